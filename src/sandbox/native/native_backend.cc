// The native backend: namespaces, mounts, Landlock, seccomp, capabilities, cgroups, and Cordon's
// own first process.

#include "sandbox/native/native_backend.h"

#include <sys/prctl.h>
#include <sys/socket.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/path.h"
#include "base/text.h"
#include "sandbox/native/cgroup.h"
#include "sandbox/native/host_rules.h"
#include "sandbox/native/native_child.h"
#include "sandbox/native/prepared.h"
#include "sandbox/native/process_status.h"
#include "sandbox/native/protocol.h"
#include "sandbox/native/sandbox_init.h"
#include "sandbox/native/verify.h"
#include "sys/calls.h"

namespace cordon::native {
namespace {

// The granted object that an operation is about; its identity is zero if there is none.
struct Granted {
  const std::string* path = nullptr;
  FileId id;
};

Granted granted_by(const Op& operation) {
  if (const auto* bind = std::get_if<op::Bind>(&operation)) return {&bind->source, bind->id};
  if (const auto* rule = std::get_if<op::LandlockAllow>(&operation)) return {&rule->path, rule->id};
  return {};
}

// A home or a project that is mounted noexec: the file's own mode says otherwise.
void name_noexec(const std::vector<std::string>& candidates, const std::string& cwd, Error& error) {
  const std::string mountinfo = read_mountinfo();
  for (const std::string& candidate : candidates) {
    const std::string path = candidate.starts_with('/') ? candidate : join(cwd, candidate);
    const std::string mount = noexec_mount(normalize(path), mountinfo);
    if (mount.empty() || ::access(path.c_str(), F_OK) != 0) continue;
    error.what += ": " + quote(mount) + " is mounted noexec";
    error.hint =
        "give a script to its interpreter (sh FILE), or keep programs on a file system "
        "that is mounted with exec";
    return;
  }
}

}  // namespace

Error command_error(const Plan& plan, int number) {
  return command_error(plan.argv.front(), plan.candidates, plan.cwd, number);
}

Error command_error(const std::string& program, const std::vector<std::string>& candidates,
                    const std::string& cwd, int number) {
  Error error{.kind = ErrorKind::Command, .error_number = number};
  const std::string name = quote(program);
  if (number == ENOENT) {
    error.what = name + " does not exist inside the sandbox";
    error.exit_status = 127;
    error.error_number = 0;
  } else if (number == ELIBACC) {
    error.what = "the interpreter that " + name + " names does not exist inside the sandbox";
    error.exit_status = 126;
    error.error_number = 0;
  } else {
    error.what = name + " cannot be executed inside the sandbox";
    error.exit_status = 126;
    if (number == EACCES) name_noexec(candidates, cwd, error);
  }
  return error;
}

Result<void> write_map(pid_t pid, const char* file, const std::string& map) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + file;
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd.valid() || ::write(fd.get(), map.data(), map.size()) < 0) {
    return fail(setup_error(std::string("cannot write ") + file, errno));
  }
  return {};
}

Result<std::vector<Fd>> pin(const Plan& plan) {
  std::vector<Fd> pins;
  for (const Op& operation : plan.build) {
    const Granted granted = granted_by(operation);
    if (granted.id == FileId{}) continue;
    Fd fd(sys::openat2(AT_FDCWD, granted.path->c_str(), O_PATH | O_CLOEXEC, 0,
                       sys::kResolveNoSymlinks | sys::kResolveNoMagicLinks));
    if (fd.get() == -EMFILE || fd.get() == -ENFILE) {
      return fail(setup_error("cannot hold " + quote(*granted.path) + " while the sandbox is built",
                              -fd.get(), "raise the limit of open files: ulimit -n"));
    }
    sys::FileStatus status{};
    const bool same = fd.get() >= 0 && sys::status_of(fd.get(), status) == 0 &&
                      FileId{status.device, status.inode} == granted.id;
    if (!same) {
      Error error =
          setup_error("a granted path changed while it was being judged: " + quote(*granted.path),
                      ESTALE, "run again");
      error.operation = describe(operation);
      return fail(std::move(error));
    }
    pins.push_back(std::move(fd));
  }
  return pins;
}

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace cordon::native

namespace cordon {
namespace native {
namespace {

Error clone_error(int number) {
  Error error{.kind = ErrorKind::Unavailable,
              .what = "cannot create namespaces",
              .hint =
                  "cordon doctor names the setting that forbids them; --backend landlock does "
                  "without them where a ceiling accepts that",
              .error_number = number};
  if (number == ENOSYS) {
    error.hint =
        "this is already inside a sandbox or container that forbids them: runs cannot be "
        "nested, but in a container --backend landlock may do";
  }
  return error;
}

void begin_init(const void* start) {
  const auto* asked = static_cast<const Start*>(start);
  run_sandbox_init(asked->prepared, asked->fds, carry_out);
}

// Cordon's own outer layer: a copy of this process in new namespaces, which builds the root.
class CloneLauncher final : public NamespaceLauncher {
 public:
  explicit CloneLauncher(Forerunner* ahead) : ahead_(ahead) {}

  [[nodiscard]] Result<Started> start(const Start& asked) const override {
    const auto& namespaces = std::get<op::EnterNamespaces>(asked.prepared.plan->build.front());
    if (ahead_ != nullptr && namespaces.own_network) {
      const sys::CloneResult followed = ahead_->follow(asked.cgroup, begin_init, &asked);
      if (followed.pid > 0) return Started{followed, false};
    }
    const sys::CloneResult cloned = clone_sandbox(namespaces, asked.cgroup);
    if (cloned.pid == 0) begin_init(&asked);
    if (cloned.pid < 0) return fail(clone_error(-cloned.pid));
    return Started{cloned, false};
  }

 private:
  Forerunner* ahead_;
};

}  // namespace

Result<Enforcement> NamespaceLauncher::verify(const Plan& plan, const Measured& measured,
                                              const NamespaceIds& outside) const {
  return native::verify(plan, measured, outside);
}

Result<std::unique_ptr<Building>> build_native(const Plan& plan, const HostFacts& facts,
                                               const std::string& run_id,
                                               const CommandStreams& streams, Forerunner* ahead) {
  return build_in(std::make_unique<CloneLauncher>(ahead), plan, facts, run_id, streams);
}

namespace {

// The first process builds; the supervisor has told it everything it needs for that.
class NativeBuilding final : public Building {
 public:
  NativeBuilding(std::unique_ptr<NamespaceLauncher> launcher, const Plan& plan,
                 std::unique_ptr<NativeChild> child, Fd release)
      : launcher_(std::move(launcher)),
        plan_(plan),
        child_(std::move(child)),
        release_(std::move(release)) {}

  [[nodiscard]] Result<Launched> release() override {
    // While it is built.
    const NamespaceIds outside = own_namespaces();
    const auto network = child_->network_outside();
    for (;;) {
      const auto received = child_->next_message(ends_);
      if (!received) return fail(launcher_->explain(received.error()));
      const Message& message = *received;
      switch (message.kind) {
        case Message::Kind::Failed:
          return fail(operation_error(plan_, message));
        case Message::Kind::Terminal:
        case Message::Kind::Places:
        case Message::Kind::Stopped:
        case Message::Kind::Reached:
          break;
        case Message::Kind::Begun:
          CORDON_CHECK(child_->take_hold(message, outside));
          if (auto seen = launcher_->examine(child_->init_process()); !seen)
            return fail(child_->or_what_it_said(std::move(seen).error()));
          break;
        case Message::Kind::Confined: {
          CORDON_TRY(enforcement, launcher_->verify(plan_, message.measured, outside));
          CORDON_CHECK(child_->verify_egress(ends_, network));
          const char go = 1;
          if (::write(release_.get(), &go, 1) != 1) {
            return fail(setup_error("cannot release the command", errno));
          }
          child_->set_released();
          return Launched{std::move(enforcement), std::move(ends_), std::move(child_)};
        }
        case Message::Kind::Ended:
          return fail(setup_error("the command ended before it was started", 0));
      }
    }
  }

 private:
  std::unique_ptr<NamespaceLauncher> launcher_;
  const Plan& plan_;
  SandboxEnds ends_;  // closed after the child is ended: its processes may be waiting for them
  std::unique_ptr<NativeChild> child_;
  Fd release_;
};

}  // namespace

Result<std::unique_ptr<Building>> build_in(std::unique_ptr<NamespaceLauncher> launcher,
                                           const Plan& plan, const HostFacts& facts,
                                           const std::string& run_id,
                                           const CommandStreams& streams) {
  // The sandbox's first process begins as a copy of this one. An undumpable one could neither map
  // its identity nor look at the command, and making the copy dumpable would open it to others.
  if (::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1) {
    return fail({.kind = ErrorKind::Unavailable,
                 .what = "the calling process is not dumpable",
                 .hint = "prctl(PR_SET_DUMPABLE, 1) before running, or start the cordon command"});
  }
  Prepared prepared = prepare(plan, ::geteuid());
  prepared.terminal = streams.terminal;
  prepared.window = {streams.rows, streams.columns, 0, 0};
  CORDON_CHECK(check_host(plan));
  CORDON_TRY(pins, pin(plan));
  // A v2 group is one to be born in. The v1 ones are made while the first process builds.
  Cgroup cgroup;
  if (prepared.groups == 0) {
    CORDON_TRY(made, Cgroup::make(plan, facts.cgroup, run_id));
    cgroup = std::move(made);
  }

  int channel[2];
  int release[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0) {
    return fail(setup_error("cannot make a socket pair", errno));
  }
  Fd ours(channel[0]);
  Fd theirs(channel[1]);
  if (::pipe2(release, O_CLOEXEC) < 0) return fail(setup_error("cannot make a pipe", errno));
  Fd release_read(release[0]);
  Fd release_write(release[1]);
  Fd lifetime_read;
  Fd lifetime_write;
  if (launcher->has_lifetime_pipe()) {
    int lifetime_pipe[2];
    if (::pipe2(lifetime_pipe, O_CLOEXEC) < 0)
      return fail(setup_error("cannot make a pipe", errno));
    lifetime_read = Fd(lifetime_pipe[0]);
    lifetime_write = Fd(lifetime_pipe[1]);
  }
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto or_null = [&](int fd) { return fd >= 0 ? fd : null.get(); };
  const SandboxInitFds fds{or_null(streams.in), or_null(streams.out), or_null(streams.err),
                           theirs.get(),        release_read.get(),   lifetime_read.get()};

  const auto start = [&] {
    const SignalsBlocked blocked;
    return launcher->start({prepared, fds, cgroup.birth_descriptor(), pins});
  };
  CORDON_TRY(started, start());
  auto child = std::make_unique<NativeChild>(plan, started, std::move(ours),
                                             std::move(lifetime_write), std::move(cgroup));
  lifetime_read.reset();
  theirs.reset();
  release_read.reset();

  if (prepared.map_by == MapBy::Supervisor) {
    CORDON_CHECK(write_map(started.process.pid, "uid_map", prepared.uid_map));
    CORDON_CHECK(write_map(started.process.pid, "gid_map", prepared.gid_map));
    CORDON_CHECK(child->order({Order::Kind::IdentityMapped, 0}));
  }
  if (prepared.groups > 0) {
    if (auto made = child->make_groups(facts.cgroup, run_id); !made) {
      return fail(launcher->explain(child->why_gone(std::move(made).error())));
    }
  }
  return std::make_unique<NativeBuilding>(std::move(launcher), plan, std::move(child),
                                          std::move(release_write));
}

}  // namespace native
}  // namespace cordon
