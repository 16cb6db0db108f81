#include "compat/mxc/executor/mxc_backend.h"

#include <sys/prctl.h>
#include <sys/socket.h>

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/path.h"
#include "base/text.h"
#include "compat/mxc/executor/examine.h"
#include "compat/mxc/executor/inside.h"
#include "compat/mxc/executor/measure.h"
#include "compat/mxc/executor/mxc_child.h"
#include "compat/mxc/executor/pins.h"
#include "host/resolve.h"
#include "sandbox/native/host_rules.h"
#include "sandbox/native/native_backend.h"

namespace cordon::mxc {
namespace {

constexpr std::size_t kPidNamespace = 2;

struct Pair {
  Fd ours;
  Fd theirs;
};

Result<Pair> socket_pair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
    return fail(setup_error("cannot make a socket pair", errno));
  }
  return Pair{Fd(ends[0]), Fd(ends[1])};
}

const op::RunExecutor& executor_of(const Plan& plan) {
  const auto found = std::ranges::find_if(plan.build, [](const Op& operation) {
    return std::holds_alternative<op::RunExecutor>(operation);
  });
  CORDON_ASSERT(found != plan.build.end());
  return std::get<op::RunExecutor>(*found);
}

bool watches_memory(const Plan& plan) {
  return std::ranges::any_of(plan.limits, [](const PlannedLimit& limit) {
    return limit.name == "memory" && limit.by == LimitBy::Watch;
  });
}

Result<void> watch_ipc_memory(const MxcChild& child, pid_t command) {
  const std::string path = "/proc/" + std::to_string(command) + "/ns/ipc";
  const Fd ipc(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!ipc.valid()) return fail(setup_error("cannot open the sandbox's ipc namespace", errno));
  return child.order({InitOrder::Kind::WatchMemory}, ipc.get());
}

std::uint64_t clone_flags(const Plan& plan) {
  const auto& namespaces = std::get<op::EnterNamespaces>(plan.build.front());
  constexpr std::uint64_t kAlways =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  return namespaces.own_network ? kAlways | CLONE_NEWNET : kAlways;
}

Error clone_error(int number) {
  return {.kind = ErrorKind::Unavailable,
          .what = "cannot create namespaces for the executor",
          .hint = "cordon doctor names the setting that forbids them",
          .error_number = number};
}

}  // namespace

Result<Launched> launch_mxc(const Plan& plan, const HostFacts& facts, const std::string& run_id,
                            const CommandStreams& streams, const std::string& program) {
  if (::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1) {
    return fail({.kind = ErrorKind::Unavailable,
                 .what = "the calling process is not dumpable",
                 .hint = "prctl(PR_SET_DUMPABLE, 1) before running, or start the cordon command"});
  }
  const op::RunExecutor& chosen = executor_of(plan);
  CORDON_TRY(executor, verify_executor(chosen.path, chosen.sha256));
  CORDON_TRY(document, sealed_memory("document", chosen.document));
  CORDON_TRY(inside_plan, sealed_memory("inside_plan", encode_inside_plan(plan, streams.terminal)));
  const Fd self(::open(program.c_str(), O_RDONLY | O_CLOEXEC));
  if (!self.valid()) return fail(setup_error("cannot open " + quote(program), errno));
  CORDON_CHECK(native::check_host(plan));
  CORDON_TRY(pins, native::pin(plan));
  CORDON_TRY(cgroup, native::Cgroup::make(plan, facts.cgroup, run_id));
  CORDON_TRY(channel, socket_pair());
  CORDON_TRY(report, socket_pair());
  const int on = 1;
  if (::setsockopt(report.ours.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0) {
    return fail(setup_error("cannot ask who writes to a socket", errno));
  }
  int release[2];
  if (::pipe2(release, O_CLOEXEC) < 0) return fail(setup_error("cannot make a pipe", errno));
  Fd release_read(release[0]);
  const Fd release_write(release[1]);
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  CORDON_TRY(terminal, open_terminal(streams));
  const auto or_null = [&](int fd) { return fd >= 0 ? fd : null.get(); };
  const auto stream = [&](int fd) { return streams.terminal ? terminal.slave.get() : or_null(fd); };

  const Identity identity = identity_of(plan);
  std::vector<std::string> words = executor_call(own_system()).argv;
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  InitStart start{.plan = &plan,
                  .argv = argv.data(),
                  .in = stream(streams.in),
                  .out = stream(streams.out),
                  .err = stream(streams.err),
                  .channel = channel.theirs.get(),
                  .document = document.get(),
                  .self = self.get(),
                  .inside_plan = inside_plan.get(),
                  .report = report.theirs.get(),
                  .release = release_read.get(),
                  .groups = {-1, -1, -1},
                  .drop_groups = identity.drop_groups,
                  .terminal = streams.terminal};
  CORDON_ASSERT(cgroup.join_descriptors().size() <= start.groups.size());
  std::ranges::transform(cgroup.join_descriptors(), start.groups.begin(), &Fd::get);
  sys::CloneResult cloned{};
  {
    const native::SignalsBlocked blocked;
    cloned = sys::clone_process(clone_flags(plan), cgroup.birth_descriptor());
    if (cloned.pid == 0) keep(executor, start);
  }
  if (cloned.pid < 0) return fail(clone_error(-cloned.pid));
  auto child = std::make_unique<MxcChild>(plan, cloned, std::move(channel.ours),
                                          std::move(report.ours), std::move(cgroup));
  channel.theirs.reset();
  report.theirs.reset();
  terminal.slave.reset();
  release_read.reset();

  CORDON_CHECK(map_identity(cloned.pid, identity));
  CORDON_CHECK(child->order({InitOrder::Kind::IdentityMapped}, -1));
  CORDON_TRY(waiting, child->wait_for_program());
  CORDON_TRY(enforcement, measure(plan, waiting.command, cloned.pid, waiting.report));
  if (watches_memory(plan)) CORDON_CHECK(watch_ipc_memory(*child, waiting.command));
  child->released(namespaces_of(waiting.command)[kPidNamespace]);
  const char go = 1;
  if (::write(release_write.get(), &go, 1) != 1) {
    return fail(setup_error("cannot release the command", errno));
  }
  SandboxEnds ends;
  ends.terminal = std::move(terminal.master);
  return Launched{std::move(enforcement), std::move(ends), std::move(child)};
}

namespace {

// Before 0.8 the executors show the whole disk; from 0.9 on they want another document.
Result<void> check_release(const Pin& pin) {
  if (pin.version == "0.8" || pin.version.starts_with("0.8.")) return {};
  return fail({.kind = ErrorKind::Unsupported,
               .what = "executors of version " + quote(pin.version) + " cannot be driven",
               .hint = "pin one of version 0.8: older ones show the whole disk, newer ones read "
                       "other documents"});
}

// An executor that the command could replace would be another one at the next run; the pin refuses
// that one, but the host would be without.
Result<void> refuse_writable(const std::string& path, const Effective& effective) {
  for (const Grant& grant : effective.write) {
    if (!contains(grant.path, path)) continue;
    return fail(
        {.kind = ErrorKind::Untrusted,
         .what = "executor " + quote(path) + " lies in the writable grant " + quote(grant.path),
         .hint = "install it elsewhere, or name another directory in MXC_BIN_DIR"});
  }
  return {};
}

Result<ExecutorChoice> choose(const Caller& caller, const Effective& effective) {
  const std::string key = pin_key(own_system(), own_machine());
  const auto found = find_executor(caller);
  if (!found) {
    return fail({.kind = ErrorKind::Unavailable,
                 .what = "there is no MXC executor for " + key,
                 .hint = "npm install -g @microsoft/mxc-sdk@0.8.0, or name its directory in "
                         "MXC_BIN_DIR"});
  }
  CORDON_TRY(pins, read_pins(caller));
  CORDON_TRY(pin, pin_for(pins, key, caller));
  CORDON_CHECK(check_release(pin));
  CORDON_CHECK(check_way(found->path, caller));
  CORDON_TRY(real, canonicalize_existing(found->path, "/", caller));
  CORDON_CHECK(refuse_writable(real.path, effective));
  return ExecutorChoice{real.path, pin.sha256};
}

// An executor gives up at the first path of its document that the caller may not read.
Result<void> refuse_unreadable(const Plan& plan) {
  for (const Op& operation : plan.build) {
    const std::string* path = nullptr;
    if (const auto* bind = std::get_if<op::Bind>(&operation)) path = &bind->path;
    if (const auto* bind = std::get_if<op::BindSystem>(&operation)) path = &bind->path;
    if (path == nullptr || ::access(path->c_str(), R_OK) == 0 || errno != EACCES) continue;
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "path " + quote(*path) + " cannot be held by mxc: you may not read it",
                 .hint = "leave it out of the grants, or use --backend native"});
  }
  return {};
}

class Mxc final : public native::GroupedBackend {
 public:
  explicit Mxc(std::string program) : program_(std::move(program)) {}

  [[nodiscard]] BackendKind kind() const override { return BackendKind::Mxc; }
  [[nodiscard]] PrivateSpace private_space() const override { return PrivateSpace::Mounted; }

  [[nodiscard]] Result<Capabilities> probe() const override {
    CORDON_TRY(caller, identify_caller());
    CORDON_TRY(chosen, choose(caller, Effective{}));
    CORDON_TRY(executor, verify_executor(chosen.path, chosen.sha256));
    Capabilities found;
    found.backend = kind();
    found.fs_read = true;
    found.fs_write = true;
    found.execute = true;
    found.net_block = true;
    found.net_allow = true;
    found.deny_paths_supported = true;
    found.environment_scrub = true;
    found.tree_kill = true;
    found.pid_limit = true;
    found.memory_limit = true;
    found.syscalls = true;
    return found;
  }

  [[nodiscard]] Result<Plan> plan(const Clamped& clamped, const HostFacts& facts,
                                  const Caller& caller, const PlanRequest& request) const override {
    if (program_.empty()) {
      return fail({.kind = ErrorKind::Unsupported,
                   .what = "backend mxc is not supported by the library",
                   .hint = "start the cordon command"});
    }
    CORDON_TRY(chosen, choose(caller, clamped.effective()));
    CORDON_TRY(made, make_mxc_plan(clamped, facts, caller, request, chosen));
    CORDON_CHECK(refuse_unreadable(made));
    return made;
  }

  [[nodiscard]] Result<std::unique_ptr<Building>> build(
      const Plan& plan, const HostFacts& facts, const std::string& run_id,
      const CommandStreams& streams) const override {
    // A foreign program acts from the start on.
    return std::make_unique<BuiltAtRelease>([&plan, &facts, &run_id, streams, program = program_] {
      return launch_mxc(plan, facts, run_id, streams, program);
    });
  }

 private:
  std::string program_;
};

}  // namespace

std::unique_ptr<Backend> make_mxc_backend(std::string program) {
  return std::make_unique<Mxc>(std::move(program));
}

}  // namespace cordon::mxc
