// What the kernel asks for the parts of a launch that no order of work avoids: a target that is
// missed is judged beside these. Each is made and taken down again in this process or a child of
// it, alone.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sections.h"

namespace bench {
namespace {

constexpr std::uint64_t kButNetwork =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

// The layout of clone3's argument up to what is used here.
struct CloneArguments {
  std::uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};

// A process in new namespaces, from its making until it is reaped. Nothing if they are refused.
std::optional<double> process_in(std::uint64_t namespaces) {
  CloneArguments arguments{};
  arguments.flags = namespaces;
  arguments.exit_signal = SIGCHLD;
  const double begin = now();
  const long child = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (child == 0) ::_exit(0);
  if (child < 0) return std::nullopt;
  while (::waitpid(static_cast<pid_t>(child), nullptr, 0) < 0 && errno == EINTR) {
  }
  return now() - begin;
}

// One more record of a log, made durable.
std::optional<double> durable_record(int file) {
  const std::string record(1000, 'x');
  const double begin = now();
  if (::write(file, record.data(), record.size()) < 0 || ::fdatasync(file) < 0) return std::nullopt;
  return now() - begin;
}

// What a child measures of itself, for what cannot be undone.
std::optional<double> in_child(const std::function<std::optional<double>()>& measure) {
  int answer[2];
  if (::pipe(answer) < 0) return std::nullopt;
  const pid_t child = ::fork();
  if (child == 0) {
    const auto took = measure();
    ::_exit(took && ::write(answer[1], &*took, sizeof *took) == sizeof *took ? 0 : 1);
  }
  ::close(answer[1]);
  double took = 0;
  const bool read = child > 0 && ::read(answer[0], &took, sizeof took) == sizeof took;
  ::close(answer[0]);
  if (child > 0) ::waitpid(child, nullptr, 0);
  return read ? std::optional(took) : std::nullopt;
}

// A filter that permits everything, as long as Cordon's, and decided after as many steps: the
// kernel goes through them for every call there is.
std::optional<double> install_filter() {
  constexpr std::size_t kInstructions = 170;
  constexpr std::size_t kSteps = 10;
  std::vector<sock_filter> program(kInstructions, {BPF_LD | BPF_W | BPF_ABS, 0, 0, 0});
  program[kSteps] = {BPF_JMP | BPF_JA, 0, 0, kInstructions - kSteps - 2};
  program.back() = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  const sock_fprog filter{kInstructions, program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return std::nullopt;
  const double begin = now();
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) < 0) return std::nullopt;
  return now() - begin;
}

// Entering an empty root and leaving the old one, with all mounts of this machine copied before.
std::optional<double> pivot() {
  if (::unshare(CLONE_NEWNS) < 0 ||
      ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0 ||
      ::mount("tmpfs", "/mnt", "tmpfs", 0, nullptr) < 0 || ::chdir("/mnt") < 0) {
    return std::nullopt;
  }
  const double begin = now();
  if (::syscall(SYS_pivot_root, ".", ".") < 0 || ::umount2(".", MNT_DETACH) < 0) {
    return std::nullopt;
  }
  return now() - begin;
}

}  // namespace

void measure_prices(const Subject& subject, Page& page) {
  const std::string log = subject.scratch.file("price.jsonl", "");
  const int file = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  struct Price {
    std::string_view name;
    std::function<std::optional<double>()> pay;
  };
  const Price prices[] = {
      {"a process alone", [] { return process_in(0); }},
      {"a process in six new namespaces", [] { return process_in(kButNetwork); }},
      {"a process in these and a new network",
       [] { return process_in(kButNetwork | CLONE_NEWNET); }},
      {"one record made durable", [&] { return durable_record(file); }},
      {"a filter of 170 instructions", [] { return in_child(install_filter); }},
      {"a new root entered and the old one left", [] { return in_child(pivot); }},
  };
  for (const Price& price : prices) {
    Samples paid;
    for (unsigned round = 0; round <= subject.rounds; ++round) {
      wait_for_quiet();
      const auto took = price.pay();
      if (took && round > 0) paid.values.push_back(*took);
    }
    const std::string name = fmt::format("price of {}", price.name);
    if (paid.values.empty()) {
      page.notes.push_back(name + ": refused to this user, not measured");
    } else {
      page.figures.push_back(plain(name, summary(paid) + " us"));
    }
  }
  ::close(file);
}

}  // namespace bench
