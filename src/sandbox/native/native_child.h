// NativeChild: a sandbox with a first process of ours, from its start to its end.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sandbox/backend.h"
#include "sandbox/native/cgroup.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/protocol.h"
#include "sys/calls.h"
#include "sys/sockets.h"

namespace cordon::native {

// Of a first process that said what failed.
Error operation_error(const Plan& plan, const Message& message);

class NativeChild final : public Child {
 public:
  NativeChild(const Plan& plan, const Started& started, Fd channel, Fd lifetime_pipe, Cgroup cgroup)
      : plan_(plan),
        pid_(started.process.pid),
        first_(started.process.pid),
        pidfd_(started.process.pidfd),
        parent_(started.parent),
        channel_(std::move(channel)),
        lifetime_pipe_(std::move(lifetime_pipe)),
        cgroup_(std::move(cgroup)) {}
  ~NativeChild() override;

  [[nodiscard]] int event_descriptor() const override { return channel_.get(); }
  [[nodiscard]] bool bounds_memory() const override { return cgroup_.holds_memory(); }
  void watch_memory() override { cgroup_.watch_memory(); }
  [[nodiscard]] PolledFor memory_news() const override { return cgroup_.memory_news(); }
  bool memory_killed() override { return cgroup_.memory_killed(); }

  ChildEvent event() override;

  void signal(int number) override;

  void kill_and_wait() override;

  [[nodiscard]] pid_t init_process() const override { return first_; }
  [[nodiscard]] std::uint64_t ipc_memory() const override { return ipc_memory_; }
  std::vector<Denial> denials() override;
  [[nodiscard]] std::optional<std::uint64_t> peak_memory() const override { return peak_memory_; }
  [[nodiscard]] Usage tree_usage() const override;

  // Waits for the next message of the set-up; descriptors that come with it are put into `ends`.
  Result<Message> next_message(SandboxEnds& ends);

  // The network of this process; nothing where the sandbox has no resolver to compare with it.
  [[nodiscard]] std::optional<std::uint64_t> network_outside() const;
  // A broker that cannot be asked, or that would take the host's network for the sandbox's, is a
  // layer that is not in force.
  Result<void> verify_egress(SandboxEnds& ends, std::optional<std::uint64_t> outside) const;

  // Of an order that did not get through: what the first process said before it ended, if anything.
  Error why_gone(Error error);

  // Of something that may come from its end: what it said then, if it has said anything.
  Error or_what_it_said(Error error);

  // Of what a first process that has begun said: it is where it is to be, and in this one's hands.
  Result<void> take_hold(const Message& message, const NamespaceIds& outside);

  // The command runs, and its first process takes orders.
  void set_released() { released_ = true; }
  Result<void> order(const Order& order) const;
  // Makes the groups of this run and hands them to the first process.
  Result<void> make_groups(const CgroupFacts& facts, const std::string& run_id);

 private:
  // Everything that came is owned at once, wanted or not.
  void keep(const Message& message, const sys::Passed& passed, SandboxEnds& ends);
  // What was started is another program, whose child the first process is.
  void end_below_parent() const;
  // Until there is something to receive, if only the end.
  [[nodiscard]] Result<void> wait_for_begin() const;
  static void wait_for(int descriptor, short events, int milliseconds);

  [[nodiscard]] std::string enforcement_bound(const std::string& name) const;

  const Plan& plan_;
  pid_t pid_;    // of what was started
  pid_t first_;  // the same, but where that is a parent
  Fd pidfd_;
  bool parent_;
  Fd inside_;  // the first process, where it is not what was started
  Fd channel_;
  Fd lifetime_pipe_;  // its end ends the sandbox; invalid where the kernel does that
  Cgroup cgroup_;
  std::optional<ChildEnd> ended_;
  std::optional<std::uint64_t> peak_memory_;
  sys::ProcessUsage usage_;
  bool released_ = false;
  bool scratch_full_ = false;
  bool pids_full_ = false;
  bool cpu_spent_ = false;
  bool file_size_full_ = false;
  std::uint64_t ipc_memory_ = 0;
};

}  // namespace cordon::native
