#include "backend/mxc/launch.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "backend/mxc/identity.h"
#include "backend/mxc/measure.h"
#include "backend/mxc/mxc_child.h"
#include "backend/mxc/orders.h"
#include "backend/mxc/platform.h"
#include "backend/mxc/terminal.h"
#include "backend/native/launch_parts.h"
#include "backend/native/odd_host.h"
#include "base/check.h"
#include "base/text.h"

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
  return child.order({KeeperOrder::Kind::WatchMemory}, ipc.get());
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

Result<std::unique_ptr<Child>> launch_mxc(const Plan& plan, const HostFacts& facts,
                                          const std::string& run_id, const CommandStreams& streams,
                                          const std::string& program) {
  if (::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 1) {
    return fail({.kind = ErrorKind::Unavailable,
                 .what = "the calling process is not dumpable",
                 .hint = "prctl(PR_SET_DUMPABLE, 1) before running, or start the cordon command"});
  }
  const op::RunExecutor& chosen = executor_of(plan);
  CORDON_TRY(executor, verify_executor(chosen.path, chosen.sha256));
  CORDON_TRY(document, sealed_memory("document", chosen.document));
  CORDON_TRY(orders, sealed_memory("orders", pack_orders(plan, streams.terminal)));
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
  KeeperStart start{.plan = &plan,
                    .argv = argv.data(),
                    .in = stream(streams.in),
                    .out = stream(streams.out),
                    .err = stream(streams.err),
                    .channel = channel.theirs.get(),
                    .document = document.get(),
                    .self = self.get(),
                    .orders = orders.get(),
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
  auto child =
      std::make_unique<MxcChild>(plan, cloned, std::move(channel.ours), std::move(report.ours),
                                 std::move(terminal.master), std::move(cgroup));
  channel.theirs.reset();
  report.theirs.reset();
  terminal.slave.reset();
  release_read.reset();

  CORDON_CHECK(map_identity(cloned.pid, identity));
  CORDON_CHECK(child->order({KeeperOrder::Kind::IdentityMapped}, -1));
  CORDON_TRY(waiting, child->wait_for_program());
  CORDON_TRY(enforcement, measure(plan, waiting.command, cloned.pid, waiting.report));
  if (watches_memory(plan)) CORDON_CHECK(watch_ipc_memory(*child, waiting.command));
  child->released(std::move(enforcement), namespaces_of(waiting.command)[kPidNamespace]);
  const char go = 1;
  if (::write(release_write.get(), &go, 1) != 1) {
    return fail(setup_error("cannot release the command", errno));
  }
  return std::unique_ptr<Child>(std::move(child));
}

}  // namespace cordon::mxc
