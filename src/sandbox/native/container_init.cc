// The engine made the namespaces and the mounts, by names that it looked up when it started the
// container: whoever can write where a name leads could have put something else there since the
// plan was judged. So nothing is started before every granted object was compared with the one that
// was judged, and every mask was seen to lie where it belongs.
#include "sandbox/native/container_init.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/text.h"
#include "host/inspect.h"
#include "plan/codec.h"
#include "sandbox/native/build.h"
#include "sandbox/native/confine.h"
#include "sys/calls.h"

namespace cordon::native {
namespace {

constexpr int kContainerTimedOut = 124;
constexpr int kContainerRefused = 125;
constexpr int kContainerNotExecutable = 126;
constexpr int kContainerNotFound = 127;
constexpr int kContainerSignalBase = 128;
constexpr std::size_t kLongestPlan = std::size_t{64} << 20;
constexpr std::uint64_t kMillisecondsPerSecond = 1000;
constexpr std::int64_t kNanosecondsPerMillisecond = 1'000'000;

int refuse_container(const std::string& what, const char* hint) {
  const std::string text = "cordon-inside: " + what + "\nhint: " + hint + "\n";
  (void)write_whole(STDERR_FILENO, text);
  return kContainerRefused;
}

std::optional<Plan> read_container_plan(const char* file) {
  const Fd opened(::open(file, O_RDONLY | O_CLOEXEC));
  if (!opened.valid()) return std::nullopt;
  const std::optional<std::string> text = read_all(opened.get(), kLongestPlan);
  return text ? decode_plan(*text) : std::nullopt;
}

Fd open_shown(const std::string& path) {
  return Fd(sys::openat2(AT_FDCWD, path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC, 0,
                         sys::kResolveNoSymlinks | sys::kResolveNoMagicLinks));
}

bool is_judged_object(const std::string& path, const FileId& id) {
  const Fd object = open_shown(path);
  sys::FileStatus status{};
  if (!object.valid() || sys::status_of(object.get(), status) < 0) return false;
  return status.device == id.device && status.inode == id.inode;
}

// A mask that lies elsewhere, because a name on the way became a link, leaves its object open.
bool is_masked_here(const op::Mask& mask) {
  const Fd object = open_shown(mask.path);
  if (!object.valid()) return false;
  struct statx status {};
  if (::statx(object.get(), "", AT_EMPTY_PATH, STATX_MODE | STATX_INO, &status) < 0) return false;
  const bool mount = (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
  const bool hides = mask.kind == FileKind::Directory || (status.stx_mode & 0777U) == 0;
  return mount && hides && status.stx_ino != mask.id.inode;
}

}  // namespace

bool shows_what_was_judged(const Op& operation) {
  if (const auto* bind = std::get_if<op::Bind>(&operation)) {
    return bind->id == FileId{} || is_judged_object(bind->path, bind->id);
  }
  if (const auto* hold = std::get_if<op::Hold>(&operation)) {
    return is_judged_object(hold->path, hold->id);
  }
  const auto* mask = std::get_if<op::Mask>(&operation);
  return mask == nullptr || is_masked_here(*mask);
}

namespace {

// The first operation whose object is not what was judged; null: all are.
const Op* misplaced(const Plan& plan) {
  for (const Op& operation : plan.build) {
    if (!shows_what_was_judged(operation)) return &operation;
  }
  return nullptr;
}

std::string with_error(const Op& operation, int error) {
  return describe(operation) + ": " + std::strerror(error);
}

// Of the command's own process. Returns only with a refusal.
int become_contained(const Plan& plan, const Prepared& prepared, int ruleset) {
  constexpr const char* kKernel = "look at the kernel of this host: cordon doctor";
  CommandReport report;
  for (const Op& operation : plan.confine) {
    int error = confine(operation, prepared, ruleset, report);
    // Who may not empty the bounding set, which the engine emptied, gains nothing from it under
    // no_new_privs.
    if (error == -EPERM && std::holds_alternative<op::DropCapabilities>(operation)) {
      error = sys::drop_own_capabilities();
    }
    if (error < 0) return refuse_container(with_error(operation, -error), kKernel);
    if (std::holds_alternative<op::RestrictLandlock>(operation) &&
        (report.landlock_read_before != 0 || report.landlock_read != EACCES)) {
      return refuse_container("Landlock was asked for and does not hold", kKernel);
    }
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  int why = ENOENT;
  for (const char* candidate : prepared.candidates) {
    const int failed = -sys::execute(candidate, prepared.argv.data(), prepared.environment.data());
    if (failed != ENOENT && failed != ENOTDIR) why = failed;
  }
  (void)refuse_container(quote(plan.argv.front()) + ": " + std::strerror(why),
                         "name a program that the policy shows");
  return why == ENOENT ? kContainerNotFound : kContainerNotExecutable;
}

std::optional<std::uint64_t> wall_clock(const Plan& plan) {
  for (const PlannedLimit& limit : plan.limits) {
    if (limit.name == "wall") return limit.value;
  }
  return std::nullopt;
}

std::uint64_t clock_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kMillisecondsPerSecond +
         static_cast<std::uint64_t>(now.tv_nsec / kNanosecondsPerMillisecond);
}

// Takes every child that has ended; the status of the command if it is among them.
std::optional<int> reap_until(pid_t command) {
  std::optional<int> ended;
  for (;;) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return ended;
    if (pid == command) {
      ended = WIFEXITED(status) ? WEXITSTATUS(status) : kContainerSignalBase + WTERMSIG(status);
    }
  }
}

// With this process the whole pid namespace ends.
int watch_over(pid_t command, std::optional<std::uint64_t> wall) {
  sigset_t all;
  ::sigfillset(&all);
  const std::uint64_t deadline = wall ? clock_ms() + *wall : 0;
  for (;;) {
    siginfo_t told{};
    int signal = 0;
    if (wall) {
      const std::uint64_t now = clock_ms();
      if (now >= deadline) return kContainerTimedOut;
      const std::uint64_t left = deadline - now;
      const timespec rest{
          static_cast<time_t>(left / kMillisecondsPerSecond),
          static_cast<long>(left % kMillisecondsPerSecond) * kNanosecondsPerMillisecond};
      signal = ::sigtimedwait(&all, &told, &rest);
    } else {
      signal = ::sigwaitinfo(&all, &told);
    }
    if (signal == SIGCHLD) {
      if (const std::optional<int> status = reap_until(command)) return *status;
    } else if (signal > 0) {
      ::kill(command, signal);
    }
  }
}

}  // namespace

int confine_in_container(const char* plan_file) {
  constexpr const char* kExport = "export the policy again: cordon export";
  // What the engine left open would be open for the command.
  if (sys::close_range(STDERR_FILENO + 1, UINT_MAX) < 0) {
    return refuse_container("cannot close inherited descriptors", kExport);
  }
  if (::getpid() != 1) {
    return refuse_container("it is not the first process of a container",
                            "it is started by what cordon export made, and by nothing else");
  }
  const std::optional<Plan> plan = read_container_plan(plan_file);
  if (!plan) {
    return refuse_container("there is no plan of this release in " + quote(plan_file), kExport);
  }
  if (const Op* wrong = misplaced(*plan)) {
    return refuse_container(describe(*wrong) + ": what is there is not what was judged", kExport);
  }
  Prepared prepared = prepare(*plan, ::geteuid());
  prepared.landlock_probe = plan_file;
  BuildState state;
  for (const Op& operation : plan->build) {
    if (!std::holds_alternative<op::LandlockAllow>(operation)) continue;
    if (const int error = carry_out(operation, prepared, state); error < 0) {
      return refuse_container(with_error(operation, -error), kExport);
    }
  }
  for (const Op& operation : plan->confine) {
    const auto* landlock = std::get_if<op::RestrictLandlock>(&operation);
    if (landlock == nullptr || landlock->abi <= state.abi) continue;
    return refuse_container("the plan needs Landlock ABI " + std::to_string(landlock->abi) +
                                ", and this kernel has " + std::to_string(state.abi),
                            kExport);
  }
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  // Else the command could read and write this process through /proc/1/mem.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const pid_t command = ::fork();
  if (command < 0) return refuse_container("cannot make a process", kExport);
  if (command == 0) ::_exit(become_contained(*plan, prepared, state.ruleset));
  // The ruleset is the command's alone.
  if (state.ruleset >= 0) ::close(state.ruleset);
  return watch_over(command, wall_clock(*plan));
}

}  // namespace cordon::native
