// The native backend: namespaces, mounts, Landlock, seccomp, capabilities, cgroups, and Cordon's
// own first process.
#include "backend/native/native_backend.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <memory>

#include "backend/native/cgroup.h"
#include "backend/native/errand.h"
#include "backend/native/first_process.h"
#include "backend/native/launch_parts.h"
#include "backend/native/prepared.h"
#include "backend/native/process_status.h"
#include "backend/native/protocol.h"
#include "backend/native/verify.h"
#include "base/check.h"
#include "base/text.h"
#include "sys/calls.h"
#include "sys/notify.h"
#include "sys/passing.h"

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

Error operation_error(const Plan& plan, const Message& message) {
  if (message.stage == Stage::Execute) return command_error(plan, message.error);
  const std::vector<Op>* operations = nullptr;
  switch (message.stage) {
    case Stage::Build:
      operations = &plan.build;
      break;
    case Stage::Seal:
      operations = &plan.seal;
      break;
    case Stage::Confine:
    case Stage::Execute:
      operations = &plan.confine;
      break;
  }
  Error error = setup_error("building the sandbox failed", message.error, "see cordon doctor");
  if (message.index < operations->size()) {
    error.operation = describe((*operations)[message.index]);
  }
  if (message.error == EINVAL && error.operation.find("network allow") != std::string::npos) {
    error.kind = ErrorKind::Unavailable;
    error.hint = "network mode allow needs Linux 5.19; --net none and --net open do not";
  }
  if (message.error == ESTALE)
    error.hint = "the path changed while the sandbox was built; run again";
  return error;
}

// Every plan ends with a filter.
const Op* find_seccomp(const Plan& plan) {
  const auto found = std::ranges::find_if(plan.confine, [](const Op& operation) {
    return std::holds_alternative<op::InstallSeccomp>(operation);
  });
  CORDON_ASSERT(found != plan.confine.end());
  return &*found;
}

Error ended_early(int number) {
  return setup_error("the sandbox's first process ended while it was being built", number);
}

class NativeChild final : public Child {
 public:
  NativeChild(const Plan& plan, const Started& started, Fd channel, Fd leash, Cgroup cgroup)
      : plan_(plan),
        pid_(started.process.pid),
        first_(started.process.pid),
        pidfd_(started.process.pidfd),
        parent_(started.parent),
        channel_(std::move(channel)),
        leash_(std::move(leash)),
        cgroup_(std::move(cgroup)) {}
  ~NativeChild() override {
    // While the first process takes its namespaces down.
    if (ended_ && !cgroup_.holds_first_process()) cgroup_.remove();
    kill_and_wait();
    cgroup_.remove();
  }

  [[nodiscard]] int event_descriptor() const override { return channel_.get(); }
  [[nodiscard]] bool bounds_memory() const override { return cgroup_.holds_memory(); }
  bool watch_memory() override {
    cgroup_.watch_memory();
    return cgroup_.events().oom_kills > 0;
  }
  [[nodiscard]] int oom_descriptor() const override { return cgroup_.oom_descriptor(); }

  ChildEvent event() override {
    if (ended_) return *ended_;
    Message message;
    const ssize_t got = ::recv(channel_.get(), &message, sizeof message, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return ChildRuns{};
    if (got != static_cast<ssize_t>(sizeof message)) return ChildLost{};
    switch (message.kind) {
      case Message::Kind::Reached:
        scratch_full_ |= message.scratch_full != 0;
        pids_full_ |= message.pids_full != 0;
        cpu_spent_ |= message.cpu_spent != 0;
        file_size_full_ |= message.file_size_full != 0;
        ipc_memory_ = message.ipc_bytes;
        return ChildRuns{};
      case Message::Kind::Stopped:
        return ChildStopped{};
      case Message::Kind::Ended:
        ended_ = ChildEnd{message.wait_status, {message.cpu_us / 1000, message.max_rss_bytes}};
        return *ended_;
      case Message::Kind::Failed:
        return operation_error(plan_, message);
      case Message::Kind::Terminal:
      case Message::Kind::Confined:
      case Message::Kind::Begun:
        break;
    }
    return ChildLost{};
  }

  void signal(int number) override {
    const Order order{Order::Kind::Signal, number};
    (void)::send(channel_.get(), &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  void kill_and_wait() override {
    if (!pidfd_.valid()) return;
    if (leash_.valid()) {
      // Told twice, because either of the two who can do it may have been killed or stopped.
      signal(SIGKILL);
      leash_.reset();
      sys::pidfd_send_signal(pidfd_.get(), SIGCONT);
    } else {
      if (parent_) end_below_parent();
      // Ending the first process makes the kernel kill its whole pid namespace before it is reaped.
      sys::pidfd_send_signal(pidfd_.get(), SIGKILL);
    }
    // The usage of the first process covers everything it and the kernel reaped.
    while (sys::wait_pidfd(pidfd_.get(), usage_) == -EINTR) {
    }
    pidfd_.reset();
  }

  [[nodiscard]] pid_t first_process() const override { return first_; }
  [[nodiscard]] std::uint64_t ipc_memory() const override { return ipc_memory_; }
  Fd take_terminal() override { return std::move(terminal_); }
  EgressDescriptors take_egress() override { return std::move(egress_); }
  Fd take_socket_source() override { return std::move(socket_source_); }
  [[nodiscard]] const Enforcement& enforcement() const override { return enforcement_; }

  std::vector<Denial> denials() override {
    std::vector<Denial> found;
    const Cgroup::Events events = cgroup_.events();
    peak_memory_ = events.peak_memory;
    if (events.pids_refused > 0) {
      found.push_back(
          {"pids", "EAGAIN at " + enforcement_bound("pids"), "cgroup", events.pids_refused});
    }
    if (pids_full_)
      found.push_back({"pids", "EAGAIN at " + enforcement_bound("pids"), "rlimit", 1});
    if (scratch_full_) {
      found.push_back({"scratch", "ENOSPC at " + enforcement_bound("scratch"), "tmpfs", 1});
    }
    if (cpu_spent_) {
      found.push_back({"cpu", "killed at " + enforcement_bound("cpu"), "rlimit", 1});
    }
    if (file_size_full_) {
      found.push_back({"file_size", "SIGXFSZ at " + enforcement_bound("file_size"), "rlimit", 1});
    }
    if (events.oom_kills > 0) {
      found.push_back(
          {"memory", "killed at " + enforcement_bound("memory"), "cgroup", events.oom_kills});
    }
    return found;
  }
  [[nodiscard]] std::optional<std::uint64_t> peak_memory() const override { return peak_memory_; }
  [[nodiscard]] Usage tree_usage() const override {
    return {usage_.cpu_us / 1000, usage_.max_rss_bytes};
  }

  // Waits for the next message of the set-up; the descriptor of a terminal is kept.
  Result<Message> next_message() {
    Message message;
    sys::Passed passed;
    if (parent_ && !inside_.valid()) CORDON_CHECK(wait_for_begin());
    ssize_t got = sys::receive_passing(channel_.get(), &message, sizeof message, passed);
    // It ended with an order unread: the kernel tells that before its last message.
    if (got < 0 && errno == ECONNRESET) {
      got = sys::receive_passing(channel_.get(), &message, sizeof message, passed);
    }
    if (got != static_cast<ssize_t>(sizeof message)) {
      return fail(ended_early(got < 0 ? errno : 0));
    }
    keep(message, passed);
    return message;
  }

  // Everything that came is owned at once, wanted or not.
  void keep(const Message& message, const sys::Passed& passed) {
    std::array<Fd, sys::kMostPassed> came;
    for (std::size_t i = 0; i < passed.count; ++i) came[i] = Fd(passed.descriptors[i]);
    if (message.kind == Message::Kind::Terminal) terminal_ = std::move(came[0]);
    if (message.kind == Message::Kind::Begun) inside_ = std::move(came[0]);
    if (message.kind != Message::Kind::Confined) return;
    const auto& seccomp = std::get<op::InstallSeccomp>(*find_seccomp(plan_));
    std::size_t next = 0;
    if (seccomp.brokered) egress_.listener = std::move(came[next++]);
    if (seccomp.net == NetMode::Allow) {
      egress_.resolver_datagrams = std::move(came[next++]);
      egress_.resolver_streams = std::move(came[next++]);
    }
    socket_source_ = std::move(came[next]);
    egress_.private_device = message.measured.scratch_device;
    if (leash_.valid()) first_ = message.measured.first_process;
  }

  // A broker that cannot be asked, or that would take the host's network for the sandbox's, is a
  // layer that is not in force.
  Result<void> verify_egress() {
    const auto& seccomp = std::get<op::InstallSeccomp>(*find_seccomp(plan_));
    if (!seccomp.brokered) return {};
    const Error absent = setup_error("layer broker is not in force inside the sandbox", 0,
                                     "the command was not started; the broker needs Linux 5.19");
    if (!sys::is_listener(egress_.listener.get())) return fail(absent);
    if (seccomp.net == NetMode::Allow) {
      const Fd own(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
      const auto outside = sys::network_of(own.get());
      const auto datagrams = sys::network_of(egress_.resolver_datagrams.get());
      const auto streams = sys::network_of(egress_.resolver_streams.get());
      const bool separate = outside && datagrams && datagrams == streams && datagrams != outside;
      if (!separate) return fail(absent);
      egress_.network = *datagrams;
    }
    sys::wake_synchronously(egress_.listener.get());
    auto channel = std::make_shared<Fd>(::fcntl(channel_.get(), F_DUPFD_CLOEXEC, 0));
    if (!channel->valid()) return fail(setup_error("cannot copy a descriptor", errno));
    egress_.bind_inside = [channel](const InsideBind& asked) {
      Order order{Order::Kind::Bind, 0};
      if (asked.address.size() > order.address.size()) return EINVAL;
      order.mask = asked.mask;
      order.address_size = static_cast<std::uint32_t>(asked.address.size());
      std::memcpy(order.address.data(), asked.address.data(), asked.address.size());
      return send_errand(channel->get(), asked.socket, asked.directory, order);
    };
    return {};
  }

  // Of an order that did not get through: what the first process said before it ended, if anything.
  Error why_gone(Error error) {
    if (error.error_number != EPIPE && error.error_number != ECONNRESET) return error;
    auto message = next_message();
    if (message && message->kind == Message::Kind::Begun) {
      auto begun = verify_begun(plan_, message->measured, own_namespaces());
      if (!begun) return std::move(begun).error();
      message = next_message();
    }
    const bool told = message && message->kind == Message::Kind::Failed;
    return told ? operation_error(plan_, *message) : error;
  }

  // Of what a first process that has begun said: it is where it is to be, and in this one's hands.
  Result<void> take_hold(const Message& message, const Namespaces& outside) {
    CORDON_CHECK(verify_begun(plan_, message.measured, outside));
    const pid_t process = inside_.valid() ? sys::process_of(inside_.get()) : -1;
    if (process <= 0) return fail(setup_error("the sandbox's first process cannot be held", 0));
    first_ = process;
    return {};
  }

  void set_enforcement(Enforcement enforcement) { enforcement_ = std::move(enforcement); }
  Result<void> order(const Order& order) const {
    if (::send(channel_.get(), &order, sizeof order, MSG_NOSIGNAL) < 0) {
      return fail(setup_error("the sandbox's first process is gone", errno));
    }
    return {};
  }
  // Makes the groups of this run and hands them to the first process.
  Result<void> make_groups(const CgroupFacts& facts, const std::string& run_id) {
    CORDON_TRY(made, Cgroup::make(plan_, facts, run_id));
    cgroup_ = std::move(made);
    const std::vector<Fd>& joins = cgroup_.join_descriptors();
    CORDON_ASSERT(joins.size() <= kMostGroups);
    std::array<int, kMostGroups> groups{};
    std::ranges::transform(joins, groups.begin(), &Fd::get);
    const Order order{Order::Kind::JoinGroups, 0};
    if (sys::send_passing(channel_.get(), &order, sizeof order, {groups.data(), joins.size()}) <
        0) {
      return fail(setup_error("the sandbox's first process is gone", errno));
    }
    return {};
  }

 private:
  // What was started is another program, whose child the first process is.
  void end_below_parent() const {
    constexpr int kPatienceMilliseconds = 1000;
    // One that has not begun yet sees the end of the channel when it does.
    ::shutdown(channel_.get(), SHUT_WR);
    if (inside_.valid()) {
      sys::pidfd_send_signal(inside_.get(), SIGKILL);
      wait_for(inside_.get(), POLLIN, -1);
      // It reaps the first process and ends: only then does its usage cover the tree.
      wait_for(pidfd_.get(), POLLIN, kPatienceMilliseconds);
      return;
    }
    // The whole group: a child that waits for a word from its parent would wait for ever. No pid is
    // reused before its process is reaped.
    ::kill(-pid_, SIGKILL);
    wait_for(channel_.get(), 0, kPatienceMilliseconds);
  }
  // Until there is something to receive, if only the end.
  [[nodiscard]] Result<void> wait_for_begin() const {
    constexpr int kPatienceMilliseconds = 4000;
    pollfd polled[] = {{channel_.get(), POLLIN, 0}, {pidfd_.get(), POLLIN, 0}};
    int ready = 0;
    do {
      ready = ::poll(polled, std::size(polled), kPatienceMilliseconds);
    } while (ready < 0 && errno == EINTR);
    if (polled[0].revents != 0) return {};
    // Nothing will come any more from a child whose parent ended.
    return fail(ready > 0 ? ended_early(0)
                          : setup_error("the sandbox's first process does not begin", ETIMEDOUT));
  }
  static void wait_for(int descriptor, short events, int milliseconds) {
    pollfd polled{descriptor, events, 0};
    while (::poll(&polled, 1, milliseconds) < 0 && errno == EINTR) {
    }
  }

  [[nodiscard]] std::string enforcement_bound(const std::string& name) const {
    for (const PlannedLimit& limit : plan_.limits) {
      if (limit.name == name) return describe(limit);
    }
    return name;
  }

  const Plan& plan_;
  pid_t pid_;    // of what was started
  pid_t first_;  // the same, but where that is a parent
  Fd pidfd_;
  bool parent_;
  Fd inside_;  // the first process, where it is not what was started
  Fd channel_;
  Fd leash_;  // its end ends the sandbox; invalid where the kernel does that
  Cgroup cgroup_;
  Fd terminal_;
  EgressDescriptors egress_;
  Fd socket_source_;
  Enforcement enforcement_;
  std::optional<ChildEnd> ended_;
  std::optional<std::uint64_t> peak_memory_;
  sys::ProcessUsage usage_;
  bool scratch_full_ = false;
  bool pids_full_ = false;
  bool cpu_spent_ = false;
  bool file_size_full_ = false;
  std::uint64_t ipc_memory_ = 0;
};

std::uint64_t clone_flags(const Plan& plan, Sabotage sabotage) {
  const auto& namespaces = std::get<op::EnterNamespaces>(plan.build.front());
  std::uint64_t flags =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  if (namespaces.own_network && sabotage != Sabotage::Namespaces) flags |= CLONE_NEWNET;
  return flags;
}

// Cordon's own outer layer: a copy of this process in new namespaces, which builds the root.
class Cloned final : public Outer {
 public:
  [[nodiscard]] Result<Started> start(const Start& asked) const override {
    const sys::CloneResult cloned = sys::clone_process(
        clone_flags(*asked.prepared.plan, asked.prepared.sabotage), asked.cgroup);
    if (cloned.pid == 0) first_process(asked.prepared, asked.fds, carry_out);
    if (cloned.pid < 0) return fail(clone_error(-cloned.pid));
    return Started{cloned, false};
  }
};

}  // namespace

Result<Enforcement> Outer::verify(const Plan& plan, const Measured& measured,
                                  const Namespaces& outside) const {
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
  const Namespaces outside = own_namespaces();
  for (;;) {
    const auto received = child->next_message();
    if (!received) return fail(outer.explain(received.error()));
    const Message& message = *received;
    switch (message.kind) {
      case Message::Kind::Failed:
        return fail(operation_error(plan, message));
      case Message::Kind::Terminal:
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
