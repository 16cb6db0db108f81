#include "sandbox/bwrap/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <variant>

#include "base/path.h"
#include "base/text.h"
#include "host/host_settings.h"
#include "host/inspect.h"
#include "sys/calls.h"

namespace cordon::bwrap {
namespace {

constexpr std::array kPlaces{"/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap",
                             "/run/current-system/sw/bin/bwrap"};
constexpr std::array<std::string_view, 17> kOptions{
    "--args",           "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
    "--unshare-cgroup", "--unshare-net",  "--uid",         "--gid",         "--as-pid-1",
    "--cap-add",        "--perms",        "--size",        "--tmpfs",       "--dev-bind",
    "--bind-fd",        "--ro-bind-fd"};
constexpr std::uint32_t kSetIds = S_ISUID | S_ISGID;
constexpr std::chrono::seconds kAnswerTimeout{5};
constexpr std::size_t kMostAnswer = std::size_t{64} << 10;

Error untrusted(const std::string& what, const std::string& hint) {
  return {.kind = ErrorKind::Untrusted, .what = what, .hint = hint};
}

Error no_answer(const Program& program) {
  return {.kind = ErrorKind::Unavailable,
          .what = "bubblewrap at " + quote(program.path) + " does not answer",
          .hint = "use --backend native"};
}

// Every directory and symlink on the way, and the file itself.
Result<std::string> trusted_end(const std::string& place, const std::string& called) {
  PathTrace trace;
  const TracedPath way = trace.to(place);
  for (const PassedPlace* passed : way.passed) {
    const FileInfo& seen = passed->info;
    // The bits of a symlink say nothing.
    const bool roots = seen.owner == 0 && (seen.symlink || (seen.mode & kOthersMayWrite) == 0);
    if (!roots) {
      return fail(untrusted(
          called + " at " + quote(place) + " could be replaced through " + quote(passed->path),
          "root is to own it and nobody else to write it"));
    }
  }
  if (way.end.empty()) return fail(setup_error("cannot look at the way to " + quote(place), errno));
  return way.end;
}

[[noreturn]] void become_asked(const Program& program, std::vector<char*>& argv, int out,
                               const std::vector<int>& kept) {
  ::setpgid(0, 0);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(null, STDERR_FILENO);
  for (const int fd : kept) ::fcntl(fd, F_SETFD, 0);
  char* none = nullptr;
  ::execveat(program.file.get(), "", argv.data(), &none, AT_EMPTY_PATH);
  ::_exit(126);
}

using Clock = std::chrono::steady_clock;

// True if it becomes readable in time.
bool wait_for(int fd, Clock::time_point end) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    pollfd polled{fd, POLLIN, 0};
    const int ready = ::poll(&polled, 1, static_cast<int>(left.count()));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// Until its end, or until there is more than enough. False if time ran out.
bool read_answer(int from, std::string& out, Clock::time_point end) {
  std::array<char, 4096> buffer{};
  while (out.size() < kMostAnswer) {
    if (!wait_for(from, end)) return false;
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    out.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return true;
}

}  // namespace

Result<Program> open_trusted(const std::string& place, const std::string& called) {
  CORDON_TRY(path, trusted_end(place, called));
  Fd file(open_canonical(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  const std::optional<FileInfo> seen = file.valid() ? inspect_fd(file.get()) : std::nullopt;
  if (!seen) return fail(setup_error("cannot open " + quote(path), errno));
  // Opened after it was looked at: it may be another file.
  if (seen->kind != FileKind::Regular || seen->owner != 0 || (seen->mode & kOthersMayWrite) != 0) {
    return fail(untrusted(called + " at " + quote(path) + " is not root's alone",
                          "root is to own it and nobody else to write it"));
  }
  return Program{std::move(path), std::move(file)};
}

Result<Program> find_program() {
  return find_program(std::vector<std::string>(kPlaces.begin(), kPlaces.end()));
}

Result<Program> find_program(const std::vector<std::string>& places) {
  for (const std::string& place : places) {
    if (::access(place.c_str(), F_OK) < 0) continue;
    CORDON_TRY(program, open_trusted(place, "bubblewrap"));
    const std::optional<FileInfo> seen = inspect_fd(program.file.get());
    if (!seen) return fail(setup_error("cannot look at " + quote(program.path), errno));
    if ((seen->mode & kSetIds) != 0) {
      return fail({.kind = ErrorKind::Unavailable,
                   .what = "bubblewrap at " + quote(program.path) + " is setuid",
                   .hint = "such a one gives no capabilities to what it starts, and the first "
                           "process needs them: chmod u-s, or --backend native"});
    }
    return program;
  }
  return fail({.kind = ErrorKind::Unavailable,
               .what = "bubblewrap is not installed",
               .hint = install_line(host_settings(), "bubblewrap")});
}

Result<void> refuse_within_grants(const Program& program, const Plan& plan) {
  const auto holds = [&](const Op& operation) {
    const auto* hold = std::get_if<op::Hold>(&operation);
    return hold != nullptr && hold->access == MountAccess::ReadOnly && hold->path == program.path;
  };
  if (std::ranges::any_of(plan.build, holds)) return {};
  for (const Op& operation : plan.build) {
    const auto* bind = std::get_if<op::Bind>(&operation);
    if (bind == nullptr || bind->access != MountAccess::ReadWrite) continue;
    if (!contains(bind->source, program.path)) continue;
    return fail(untrusted(
        quote(program.path) + " lies in the writable grant " + quote(bind->source),
        "an earlier command could have replaced it: grant less, or use --backend native"));
  }
  return {};
}

Result<void> check_options(const Program& program) {
  CORDON_TRY(answer, ask(program, {"--help"}, {}, kAnswerTimeout));
  if (answer.wait_status != 0 || answer.out.empty()) return fail(no_answer(program));
  std::vector<std::string_view> known;
  for (const std::string_view line : split(answer.out, '\n')) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) continue;
    known.push_back(line.substr(begin, line.find(' ', begin) - begin));
  }
  for (const std::string_view option : kOptions) {
    if (std::ranges::find(known, option) != known.end()) continue;
    return fail({.kind = ErrorKind::Unavailable,
                 .what = "the installed bubblewrap has no " + std::string(option),
                 .hint = "install bubblewrap 0.8 or newer, or use --backend native"});
  }
  return {};
}

Result<Answer> ask(const Program& program, const std::vector<std::string>& words,
                   const std::vector<int>& kept, std::chrono::milliseconds timeout) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return fail(setup_error("cannot make a pipe", errno));
  const Fd from(ends[0]);
  Fd to(ends[1]);
  std::string name = "bwrap";
  std::vector<std::string> copies = words;
  std::vector<char*> argv{name.data()};
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  const sys::CloneResult child = sys::clone_process(0, -1);
  if (child.pid == 0) become_asked(program, argv, to.get(), kept);
  if (child.pid < 0) return fail(setup_error("cannot start bubblewrap", -child.pid));
  const Fd pidfd(child.pidfd);
  ::setpgid(child.pid, child.pid);
  to.reset();
  Answer answer;
  const Clock::time_point end = Clock::now() + timeout;
  const bool told = read_answer(from.get(), answer.out, end) && wait_for(pidfd.get(), end);
  if (!told) ::kill(-child.pid, SIGKILL);
  while (::waitpid(child.pid, &answer.wait_status, 0) < 0 && errno == EINTR) {
  }
  if (!told) return fail(no_answer(program));
  return answer;
}

}  // namespace cordon::bwrap
