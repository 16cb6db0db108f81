#include "sandbox/native/native_child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>

#include "base/check.h"
#include "sandbox/native/host_rules.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/process_status.h"
#include "sandbox/native/sandbox_init.h"
#include "sandbox/native/verify.h"
#include "sys/notify.h"

namespace cordon::native {
namespace {

// Every plan ends with a filter.
const Op* find_seccomp(const Plan& plan) {
  const auto found = std::ranges::find_if(plan.confine, [](const Op& operation) {
    return std::holds_alternative<op::InstallSeccomp>(operation);
  });
  CORDON_ASSERT(found != plan.confine.end());
  return &*found;
}

bool has_resolver(const Plan& plan) {
  return std::ranges::any_of(plan.build, [](const Op& operation) {
    return std::holds_alternative<op::OpenResolver>(operation);
  });
}

// For a parent that is to reap the tree before it ends.
constexpr int kReapMilliseconds = 1000;
// For a first process that was asked to end everything; it may have been stopped.
constexpr int kAskedMilliseconds = 200;

// It said nothing before it ended: what the kernel says of `pidfd` is all that is known.
Error ended_early(int pidfd, int number) {
  pollfd polled{pidfd, POLLIN, 0};
  while (::poll(&polled, 1, kReapMilliseconds) < 0 && errno == EINTR) {
  }
  siginfo_t ended{};
  const bool known =
      ::waitid(P_PIDFD, static_cast<id_t>(pidfd), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      ended.si_pid != 0;
  const bool killed = known && (ended.si_code == CLD_KILLED || ended.si_code == CLD_DUMPED);
  if (!killed) {
    return setup_error("the sandbox's first process ended while it was being built", number,
                       "cordon doctor tries one by one what building a sandbox takes");
  }
  return setup_error(
      "the process that builds the sandbox was killed by " + signal_name(ended.si_status), 0,
      ended.si_status == SIGKILL
          ? "something outside did that: the kernel for want of memory (dmesg says so), or whoever "
            "bounds this group of processes; run again when there is room"
          : "no step of it does that: report it with what cordon doctor prints");
}

}  // namespace

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
    name_cause((*operations)[message.index], error);
  }
  if (message.error == EINVAL && error.operation.find("network allow") != std::string::npos) {
    error.kind = ErrorKind::Unavailable;
    error.hint = "network mode allow needs Linux 5.19; --net none and --net open do not";
  }
  if (message.error == ESTALE)
    error.hint = "the path changed while the sandbox was built; run again";
  return error;
}

NativeChild::~NativeChild() {
  // While the first process takes its namespaces down.
  if (ended_ && !cgroup_.holds_sandbox_init()) cgroup_.remove();
  kill_and_wait();
  cgroup_.remove();
}

ChildEvent NativeChild::event() {
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
    case Message::Kind::Places:
    case Message::Kind::Confined:
    case Message::Kind::Begun:
      break;
  }
  return ChildLost{};
}

void NativeChild::signal(int number) {
  const Order order{Order::Kind::Signal, number};
  (void)::send(channel_.get(), &order, sizeof order, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void NativeChild::kill_and_wait() {
  if (!pidfd_.valid()) return;
  // What the kernel ends with a pid namespace it reaps without adding up its time. The first
  // process, asked, ends everything, reaps it and then itself.
  if (released_) {
    signal(SIGKILL);
    wait_for(pidfd_.get(), POLLIN, kAskedMilliseconds);
  }
  if (lifetime_pipe_.valid()) {
    // Told twice, because either of the two who can do it may have been killed or stopped.
    signal(SIGKILL);
    lifetime_pipe_.reset();
    sys::pidfd_send_signal(pidfd_.get(), SIGCONT);
    // It ends what descends from it and reaps it, so that its usage covers the tree. The group is
    // for what it cannot reach.
    wait_for(pidfd_.get(), POLLIN, cgroup_.holds_sandbox_init() ? kReapMilliseconds : -1);
    (void)cgroup_.kill();
  } else {
    if (parent_) end_below_parent();
    (void)cgroup_.kill();
    // Ending the first process makes the kernel kill its whole pid namespace before it is reaped.
    sys::pidfd_send_signal(pidfd_.get(), SIGKILL);
  }
  // The usage of the first process covers everything it and the kernel reaped.
  while (sys::wait_pidfd(pidfd_.get(), usage_) == -EINTR) {
  }
  pidfd_.reset();
}

std::vector<Denial> NativeChild::denials() {
  std::vector<Denial> found;
  const Cgroup::Events events = cgroup_.events();
  peak_memory_ = events.peak_memory;
  if (events.pids_refused > 0) {
    found.push_back(
        {"pids", "EAGAIN at " + enforcement_bound("pids"), "cgroup", events.pids_refused});
  }
  // The kernel tells nobody but the program: known is that there was no room.
  if (pids_full_) {
    found.push_back(
        {"pids", "full at " + enforcement_bound("pids") + ": one more gets EAGAIN", "rlimit", 1});
  }
  if (scratch_full_) {
    found.push_back({"scratch", "ENOSPC at " + enforcement_bound("scratch"), "tmpfs", 1});
  }
  if (cpu_spent_) {
    found.push_back({"cpu", "killed at " + enforcement_bound("cpu"), "rlimit", 1});
  }
  if (file_size_full_) {
    found.push_back({"file_size", "SIGXFSZ at " + enforcement_bound("file_size"), "rlimit", 1});
  }
  if (auto denial = memory_denial(events.memory, enforcement_bound("memory"))) {
    found.push_back(std::move(*denial));
  }
  return found;
}

Usage NativeChild::tree_usage() const { return {usage_.cpu_us / 1000, usage_.max_rss_bytes}; }

Result<Message> NativeChild::next_message(SandboxEnds& ends) {
  Message message;
  sys::Passed passed;
  if (parent_ && !inside_.valid()) CORDON_CHECK(wait_for_begin());
  ssize_t got = sys::receive_passing(channel_.get(), &message, sizeof message, passed);
  // It ended with an order unread: the kernel tells that before its last message.
  if (got < 0 && errno == ECONNRESET) {
    got = sys::receive_passing(channel_.get(), &message, sizeof message, passed);
  }
  if (got != static_cast<ssize_t>(sizeof message)) {
    return fail(ended_early(pidfd_.get(), got < 0 ? errno : 0));
  }
  keep(message, passed, ends);
  return message;
}

void NativeChild::keep(const Message& message, const sys::Passed& passed, SandboxEnds& ends) {
  std::array<Fd, sys::kMostPassed> came;
  for (std::size_t i = 0; i < passed.count; ++i) came[i] = Fd(passed.descriptors[i]);
  if (message.kind == Message::Kind::Terminal) ends.terminal = std::move(came[0]);
  if (message.kind == Message::Kind::Places) {
    std::size_t which = 0;
    for (std::size_t i = 0; i < kGonePlaces; ++i)
      if ((message.index >> i & 1U) != 0) ends.gone_places[i] = std::move(came[which++]);
  }
  if (message.kind == Message::Kind::Begun) inside_ = std::move(came[0]);
  if (message.kind != Message::Kind::Confined) return;
  const auto& seccomp = std::get<op::InstallSeccomp>(*find_seccomp(plan_));
  std::size_t next = 0;
  if (seccomp.brokered) ends.egress.listener = std::move(came[next++]);
  if (has_resolver(plan_)) {
    ends.egress.datagrams = std::move(came[next++]);
    ends.egress.streams = std::move(came[next++]);
  }
  ends.socket_source = std::move(came[next]);
  ends.egress.private_device = message.measured.scratch_device;
  if (lifetime_pipe_.valid()) first_ = message.measured.init_pid;
}

std::optional<std::uint64_t> NativeChild::network_outside() const {
  if (!has_resolver(plan_)) return std::nullopt;
  const Fd own(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return sys::network_of(own.get());
}

Result<void> NativeChild::verify_egress(SandboxEnds& ends,
                                        std::optional<std::uint64_t> outside) const {
  const auto& seccomp = std::get<op::InstallSeccomp>(*find_seccomp(plan_));
  if (!seccomp.brokered) return {};
  const Error absent = setup_error("layer broker is not in force inside the sandbox", 0,
                                   "the command was not started; the broker needs Linux 5.19");
  if (!sys::is_listener(ends.egress.listener.get())) return fail(absent);
  if (has_resolver(plan_)) {
    const auto datagrams = sys::network_of(ends.egress.datagrams.get());
    const auto streams = sys::network_of(ends.egress.streams.get());
    const bool separate = outside && datagrams && datagrams == streams && datagrams != outside;
    // In mode none nothing rests on it: it tells what was asked for, and answers nobody else.
    if (!separate && seccomp.net == NetMode::Allow) return fail(absent);
    if (separate) {
      ends.egress.network = *datagrams;
    } else {
      ends.egress.datagrams.reset();
      ends.egress.streams.reset();
    }
  }
  sys::wake_synchronously(ends.egress.listener.get());
  auto channel = std::make_shared<Fd>(::fcntl(channel_.get(), F_DUPFD_CLOEXEC, 0));
  if (!channel->valid()) return fail(setup_error("cannot copy a descriptor", errno));
  ends.egress.bind_in_sandbox = [channel](const SandboxBind& asked) {
    Order order{Order::Kind::Bind, 0};
    if (asked.address.size() > order.address.size()) return EINVAL;
    order.mask = asked.mask;
    order.address_size = static_cast<std::uint32_t>(asked.address.size());
    std::memcpy(order.address.data(), asked.address.data(), asked.address.size());
    return ask_for_bind(channel->get(), asked.socket, asked.directory, order);
  };
  return {};
}

Error NativeChild::why_gone(Error error) {
  if (error.error_number != EPIPE && error.error_number != ECONNRESET) return error;
  SandboxEnds unused;
  auto message = next_message(unused);
  if (message && message->kind == Message::Kind::Begun) {
    auto begun = verify_begun(plan_, message->measured, own_namespaces());
    if (!begun) return std::move(begun).error();
    message = next_message(unused);
  }
  const bool told = message && message->kind == Message::Kind::Failed;
  return told ? operation_error(plan_, *message) : error;
}

Error NativeChild::or_what_it_said(Error error) {
  pollfd polled{channel_.get(), POLLIN, 0};
  if (::poll(&polled, 1, 0) <= 0) return error;
  SandboxEnds unused;
  const auto said = next_message(unused);
  const bool failed = said && said->kind == Message::Kind::Failed;
  return failed ? operation_error(plan_, *said) : error;
}

Result<void> NativeChild::take_hold(const Message& message, const NamespaceIds& outside) {
  CORDON_CHECK(verify_begun(plan_, message.measured, outside));
  const pid_t process = inside_.valid() ? sys::process_of(inside_.get()) : -1;
  if (process <= 0) {
    return fail(or_what_it_said(setup_error("the sandbox's first process cannot be held", 0)));
  }
  first_ = process;
  return {};
}

Result<void> NativeChild::order(const Order& order) const {
  if (::send(channel_.get(), &order, sizeof order, MSG_NOSIGNAL) < 0) {
    return fail(setup_error("the sandbox's first process is gone", errno));
  }
  return {};
}

Result<void> NativeChild::make_groups(const CgroupFacts& facts, const std::string& run_id) {
  CORDON_TRY(made, Cgroup::make(plan_, facts, run_id));
  cgroup_ = std::move(made);
  const std::vector<Fd>& joins = cgroup_.join_descriptors();
  CORDON_ASSERT(joins.size() <= kMostGroups);
  std::array<int, kMostGroups> groups{};
  std::ranges::transform(joins, groups.begin(), &Fd::get);
  const Order order{Order::Kind::JoinGroups, 0};
  if (sys::send_passing(channel_.get(), &order, sizeof order, {groups.data(), joins.size()}) < 0) {
    return fail(setup_error("the sandbox's first process is gone", errno));
  }
  return {};
}

void NativeChild::end_below_parent() const {
  // One that has not begun yet sees the end of the channel when it does.
  ::shutdown(channel_.get(), SHUT_WR);
  if (inside_.valid()) {
    sys::pidfd_send_signal(inside_.get(), SIGKILL);
    wait_for(inside_.get(), POLLIN, -1);
    // It reaps the first process and ends: only then does its usage cover the tree.
    wait_for(pidfd_.get(), POLLIN, kReapMilliseconds);
    return;
  }
  // The whole group: a child that waits for a word from its parent would wait for ever. No pid is
  // reused before its process is reaped.
  ::kill(-pid_, SIGKILL);
  wait_for(channel_.get(), 0, kReapMilliseconds);
}

Result<void> NativeChild::wait_for_begin() const {
  constexpr int kBeginMilliseconds = 4000;
  pollfd polled[] = {{channel_.get(), POLLIN, 0}, {pidfd_.get(), POLLIN, 0}};
  int ready = 0;
  do {
    ready = ::poll(polled, std::size(polled), kBeginMilliseconds);
  } while (ready < 0 && errno == EINTR);
  if (polled[0].revents != 0) return {};
  // Nothing will come any more from a child whose parent ended.
  return fail(ready > 0 ? ended_early(pidfd_.get(), 0)
                        : setup_error("the sandbox's first process does not begin", ETIMEDOUT));
}

void NativeChild::wait_for(int descriptor, short events, int milliseconds) {
  pollfd polled{descriptor, events, 0};
  while (::poll(&polled, 1, milliseconds) < 0 && errno == EINTR) {
  }
}

std::string NativeChild::enforcement_bound(const std::string& name) const {
  for (const PlannedLimit& limit : plan_.limits) {
    if (limit.name == name) return describe(limit);
  }
  return name;
}

}  // namespace cordon::native
