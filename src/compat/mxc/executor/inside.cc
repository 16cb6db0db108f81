#include "compat/mxc/executor/inside.h"

#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <variant>

#include "base/text.h"
#include "host/inspect.h"
#include "plan/codec.h"
#include "sandbox/native/become_command.h"
#include "sandbox/native/build.h"

namespace cordon::mxc {
namespace {

// A whole one and writable: bubblewrap writes its id maps there, and the kernel lets it mount one
// of its own only where a whole one is seen. The command gets that other one.
int mount_proc() {
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC;
  return ::mount("proc", "proc", "proc", kFlags, nullptr) < 0 ? -errno : 0;
}

// The clone and the supervisor did these.
bool is_done(const Op& operation) {
  return std::holds_alternative<op::EnterNamespaces>(operation) ||
         std::holds_alternative<op::MapIdentity>(operation);
}

}  // namespace

int build_view(const Plan& plan, std::uint32_t& index) {
  const native::Prepared unused;
  native::BuildState state;
  // Modes are then what the plan says.
  const mode_t mask = ::umask(0);
  for (index = 0; index < plan.build.size(); ++index) {
    const Op& operation = plan.build[index];
    if (std::holds_alternative<op::RunExecutor>(operation)) break;
    if (is_done(operation)) continue;
    int error = 0;
    if (std::holds_alternative<op::PivotRoot>(operation)) error = mount_proc();
    if (error == 0) error = native::carry_out(operation, unused, state);
    if (error < 0) return error;
  }
  ::umask(mask);
  return 0;
}

std::string encode_inside_plan(const Plan& plan, bool terminal) {
  Plan inside;
  inside.confine = plan.confine;
  inside.cwd = plan.cwd;
  inside.argv = plan.argv;
  inside.candidates = plan.candidates;
  inside.environment = plan.environment;
  for (const Op& operation : plan.build) {
    const auto* rule = std::get_if<op::LandlockAllow>(&operation);
    if (rule == nullptr) continue;
    // What the executor shows may be another object than the host's.
    op::LandlockAllow shown = *rule;
    shown.id = {};
    inside.build.emplace_back(std::move(shown));
  }
  return (terminal ? "t" : "-") + encode_plan(inside);
}

std::optional<InsidePlan> decode_inside_plan(std::string_view bytes) {
  if (bytes.empty() || (bytes.front() != 't' && bytes.front() != '-')) return std::nullopt;
  auto plan = decode_plan(bytes.substr(1));
  if (!plan || plan->argv.empty()) return std::nullopt;
  plan->backend = BackendKind::Mxc;
  return InsidePlan{std::move(*plan), bytes.front() == 't'};
}

namespace {

constexpr int kFailed = 125;
constexpr std::size_t kMostPlanBytes = std::size_t{64} << 20;

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
  if (!is_sealed(kPlanFd) || ::lseek(kPlanFd, 0, SEEK_SET) != 0) return kFailed;
  const std::optional<std::string> bytes = read_all(kPlanFd, kMostPlanBytes);
  const std::optional<InsidePlan> inside_plan = bytes ? decode_inside_plan(*bytes) : std::nullopt;
  if (!inside_plan) return fail_with(native::Stage::Seal, 0, EBADMSG);
  const Plan& plan = inside_plan->plan;
  // Before anything of ours could have that number.
  if (::dup3(kReleaseFd, native::kReleaseFd, O_CLOEXEC) < 0) {
    return fail_with(native::Stage::Seal, 0, errno);
  }

  native::Prepared prepared = native::prepare(plan, ::geteuid());
  prepared.terminal = inside_plan->terminal;
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
