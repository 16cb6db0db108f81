#include "backend/mxc/inside.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "backend/mxc/orders.h"
#include "backend/native/become_command.h"
#include "backend/native/build.h"
#include "host/look.h"

namespace cordon::mxc {
namespace {

constexpr int kFailed = 125;
constexpr std::size_t kMostOrdersBytes = std::size_t{64} << 20;

int fail_with(native::Stage stage, std::uint32_t index, int error) {
  native::CommandReport report;
  report.stage = stage;
  report.index = index;
  report.error = error;
  // Nobody hears it if this fails; the executor's end tells the rest.
  [[maybe_unused]] const ssize_t written = ::write(kReportFd, &report, sizeof report);
  return kFailed;
}

// Only what the supervisor sealed is obeyed: an executor that put something of its own here is one
// that the pin should have kept out.
bool is_sealed(int descriptor) {
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  return seals >= 0 && (seals & kNeeded) == kNeeded;
}

// The file that shows Landlock at work: nothing but a rule keeps it from being read.
int make_probe() {
  const int fd =
      ::open(native::kLandlockProbe, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444);
  if (fd < 0) return -errno;
  ::close(fd);
  return 0;
}

}  // namespace

int run_inside() {
  // The executors block signals and leave it at that; and a key at the terminal is for the command.
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  native::CommandStart start;
  start.mask = ::umask(0);
  start.report = kReportFd;
  start.groups.fill(-1);
  if (!is_sealed(kOrdersFd) || ::lseek(kOrdersFd, 0, SEEK_SET) != 0) return kFailed;
  const std::optional<std::string> bytes = read_all(kOrdersFd, kMostOrdersBytes);
  const std::optional<Orders> orders = bytes ? unpack_orders(*bytes) : std::nullopt;
  if (!orders) return fail_with(native::Stage::Seal, 0, EBADMSG);
  const Plan& plan = orders->plan;
  // Before anything of ours could have that number.
  if (::dup3(kReleaseFd, native::kReleaseFd, O_CLOEXEC) < 0) {
    return fail_with(native::Stage::Seal, 0, errno);
  }

  native::Prepared prepared = native::prepare(plan, ::geteuid());
  prepared.terminal = orders->terminal;
  if (const int error = make_probe(); error < 0) return fail_with(native::Stage::Seal, 0, -error);
  native::BuildState state;
  std::uint32_t index = 0;
  for (const Op& operation : plan.build) {
    if (const int error = native::carry_out(operation, prepared, state); error < 0) {
      return fail_with(native::Stage::Build, index, -error);
    }
    ++index;
  }
  start.ruleset = state.ruleset;
  for (std::size_t i = 0; i < start.groups.size(); ++i) {
    const int group = kFirstGroupFd + static_cast<int>(i);
    if (::fcntl(group, F_GETFD) >= 0) start.groups[i] = group;
  }
  native::become_command(prepared, start);
}

}  // namespace cordon::mxc
