// A backend that runs commands without any boundary and claims all of it: what a demonstration must
// not be taken in by. It stands before its namesake of the library in one test program; the product
// has no such backend.
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <vector>

#include "plan/plan.h"
#include "run/backends.h"

namespace cordon {
namespace {

Enforcement claimed() {
  Enforcement enforcement;
  enforcement.backend = "native";
  enforcement.namespaces = enforcement.pivot_root = enforcement.bind_mounts = true;
  enforcement.landlock = enforcement.seccomp = enforcement.cap_drop = true;
  enforcement.no_new_privs = true;
  enforcement.landlock_abi = 7;
  enforcement.network = "none";
  enforcement.limits = {{"pids", "cgroup"}, {"memory", "cgroup"}};
  return enforcement;
}

class Unconfined final : public Child {
 public:
  explicit Unconfined(pid_t pid)
      : pid_(pid), event_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  Unconfined(const Unconfined&) = delete;
  Unconfined& operator=(const Unconfined&) = delete;
  ~Unconfined() override { Unconfined::kill_and_wait(); }

  [[nodiscard]] int event_descriptor() const override { return event_.get(); }
  [[nodiscard]] bool bounds_memory() const override { return false; }
  void watch_memory() override {}
  [[nodiscard]] PolledFor memory_news() const override { return {}; }
  bool memory_killed() override { return false; }
  ChildEvent event() override {
    int status = 0;
    if (reaped_ || ::waitpid(pid_, &status, WNOHANG) != pid_) return ChildRuns{};
    reaped_ = true;
    return ChildEnd{status, {}};
  }
  void signal(int number) override { ::kill(-pid_, number); }
  void kill_and_wait() override {
    ::kill(-pid_, SIGKILL);
    if (!reaped_) ::waitpid(pid_, nullptr, 0);
    reaped_ = true;
  }
  [[nodiscard]] pid_t init_process() const override { return pid_; }
  [[nodiscard]] std::uint64_t ipc_memory() const override { return 0; }
  std::vector<Denial> denials() override { return {}; }
  [[nodiscard]] std::optional<std::uint64_t> peak_memory() const override { return {}; }
  [[nodiscard]] Usage tree_usage() const override { return {}; }

 private:
  pid_t pid_;
  Fd event_;
  bool reaped_ = false;
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> list;
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

class Liar final : public Backend {
 public:
  [[nodiscard]] BackendKind kind() const override { return BackendKind::Native; }
  [[nodiscard]] PrivateSpace private_space() const override { return PrivateSpace::Mounted; }
  [[nodiscard]] Result<Capabilities> probe() const override {
    return Capabilities{BackendKind::Native};
  }
  [[nodiscard]] Result<Plan> plan(const Clamped& clamped, const HostFacts& facts,
                                  const Caller& caller, const PlanRequest& request) const override {
    return make_native_plan(clamped, facts, caller, request);
  }
  [[nodiscard]] std::vector<std::string> leftovers(const Plan&, const HostFacts&,
                                                   const std::string&) const override {
    return {};
  }
  [[nodiscard]] Result<std::unique_ptr<Building>> build(
      const Plan& plan, const HostFacts&, const std::string&,
      const CommandStreams& streams) const override {
    return std::make_unique<BuiltAtRelease>([&plan, streams] { return launch(plan, streams); });
  }

 private:
  static Result<Launched> launch(const Plan& plan, const CommandStreams& streams) {
    const std::vector<char*> argv = pointers(plan.argv);
    const std::vector<char*> environment = pointers(plan.environment);
    const pid_t pid = ::fork();
    if (pid < 0) return fail(setup_error("cannot fork", errno));
    if (pid == 0) {
      ::setpgid(0, 0);
      const int empty = ::open("/dev/null", O_RDONLY);
      ::dup2(streams.in < 0 ? empty : streams.in, STDIN_FILENO);
      ::dup2(streams.out, STDOUT_FILENO);
      ::dup2(streams.err, STDERR_FILENO);
      ::execve(argv.front(), argv.data(), environment.data());
      ::_exit(127);
    }
    ::setpgid(pid, pid);
    return Launched{claimed(), {}, std::make_unique<Unconfined>(pid)};
  }
};

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(BackendKind) {
  return std::unique_ptr<Backend>(std::make_unique<Liar>());
}

}  // namespace cordon
