// The native backend: namespaces, mounts, Landlock, seccomp, capabilities, cgroups, and Cordon's
// own first process.
#include "backend/native/native_backend.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "backend/native/cgroup.h"
#include "backend/native/first_process.h"
#include "backend/native/launch_parts.h"
#include "backend/native/native_child.h"
#include "backend/native/odd_host.h"
#include "backend/native/prepared.h"
#include "backend/native/process_status.h"
#include "backend/native/protocol.h"
#include "backend/native/verify.h"
#include "base/text.h"
#include "sys/calls.h"

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

// Cordon's own outer layer: a copy of this process in new namespaces, which builds the root.
class Cloned final : public Outer {
 public:
  [[nodiscard]] Result<Started> start(const Start& asked) const override {
    const auto& namespaces = std::get<op::EnterNamespaces>(asked.prepared.plan->build.front());
    const sys::CloneResult cloned = clone_sandbox(namespaces, asked.cgroup);
    if (cloned.pid == 0) first_process(asked.prepared, asked.fds, carry_out);
    if (cloned.pid < 0) return fail(clone_error(-cloned.pid));
    return Started{cloned, false};
  }
};

}  // namespace

Result<Enforcement> Outer::verify(const Plan& plan, const Measured& measured,
                                  const NamespaceIds& outside) const {
  return native::verify(plan, measured, outside);
}

Result<std::unique_ptr<Child>> launch_native(const Plan& plan, const HostFacts& facts,
                                             const std::string& run_id,
                                             const CommandStreams& streams) {
  return launch_in(Cloned(), plan, facts, run_id, streams);
}

Result<std::unique_ptr<Child>> launch_in(const Outer& outer, const Plan& plan,
                                         const HostFacts& facts, const std::string& run_id,
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
  Fd leash_read;
  Fd leash_write;
  if (outer.is_leashed()) {
    int leash[2];
    if (::pipe2(leash, O_CLOEXEC) < 0) return fail(setup_error("cannot make a pipe", errno));
    leash_read = Fd(leash[0]);
    leash_write = Fd(leash[1]);
  }
  const Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  const auto or_null = [&](int fd) { return fd >= 0 ? fd : null.get(); };
  const FirstProcessFds fds{or_null(streams.in), or_null(streams.out), or_null(streams.err),
                            theirs.get(),        release_read.get(),   leash_read.get()};

  const auto start = [&] {
    const SignalsBlocked blocked;
    return outer.start({prepared, fds, cgroup.birth_descriptor(), pins});
  };
  CORDON_TRY(started, start());
  auto child = std::make_unique<NativeChild>(plan, started, std::move(ours), std::move(leash_write),
                                             std::move(cgroup));
  leash_read.reset();
  theirs.reset();
  release_read.reset();

  if (prepared.map_by == MapBy::Supervisor) {
    CORDON_CHECK(write_map(started.process.pid, "uid_map", prepared.uid_map));
    CORDON_CHECK(write_map(started.process.pid, "gid_map", prepared.gid_map));
    CORDON_CHECK(child->order({Order::Kind::IdentityMapped, 0}));
  }
  if (prepared.groups > 0) {
    if (auto made = child->make_groups(facts.cgroup, run_id); !made) {
      return fail(outer.explain(child->why_gone(std::move(made).error())));
    }
  }
  const NamespaceIds outside = own_namespaces();
  for (;;) {
    const auto received = child->next_message();
    if (!received) return fail(outer.explain(received.error()));
    const Message& message = *received;
    switch (message.kind) {
      case Message::Kind::Failed:
        return fail(operation_error(plan, message));
      case Message::Kind::Terminal:
      case Message::Kind::Places:
      case Message::Kind::Stopped:
      case Message::Kind::Reached:
        break;
      case Message::Kind::Begun:
        CORDON_CHECK(child->take_hold(message, outside));
        break;
      case Message::Kind::Confined: {
        CORDON_TRY(enforcement, outer.verify(plan, message.measured, outside));
        CORDON_CHECK(child->verify_egress());
        child->set_enforcement(std::move(enforcement));
        const char go = 1;
        if (::write(release_write.get(), &go, 1) != 1) {
          return fail(setup_error("cannot release the command", errno));
        }
        return std::unique_ptr<Child>(std::move(child));
      }
      case Message::Kind::Ended:
        return fail(setup_error("the command ended before it was started", 0));
    }
  }
}

}  // namespace native
}  // namespace cordon
