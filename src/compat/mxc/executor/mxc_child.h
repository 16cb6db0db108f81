// A sandbox that an executor made, held by its init.
#pragma once

#include <optional>

#include "compat/mxc/executor/executor_init.h"
#include "sandbox/backend.h"
#include "sandbox/native/cgroup.h"
#include "sys/calls.h"

namespace cordon::mxc {

// A terminal for a command whose first process is not Cordon's.

struct Terminal {
  Fd master;
  Fd slave;
};
// Of the host's, with the size of the caller's window; both invalid if none is asked for. The
// suspend key is off: nobody who could tell the supervisor would see the command stop.
Result<Terminal> open_terminal(const CommandStreams& streams);

class MxcChild final : public Child {
 public:
  // `report` is where the program inside tells of itself, and then of a command that it could not
  // become.
  MxcChild(const Plan& plan, const sys::CloneResult& init, Fd channel, Fd report,
           native::Cgroup cgroup);
  ~MxcChild() override;
  MxcChild(const MxcChild&) = delete;
  MxcChild& operator=(const MxcChild&) = delete;

  [[nodiscard]] int event_descriptor() const override { return channel_.get(); }
  [[nodiscard]] bool bounds_memory() const override { return cgroup_.holds_memory(); }
  void watch_memory() override { cgroup_.watch_memory(); }
  [[nodiscard]] PolledFor memory_news() const override { return cgroup_.memory_news(); }
  bool memory_killed() override { return cgroup_.memory_killed(); }
  ChildEvent event() override;
  void signal(int number) override;
  void kill_and_wait() override;
  [[nodiscard]] pid_t init_process() const override { return pid_; }
  [[nodiscard]] std::uint64_t ipc_memory() const override { return ipc_memory_; }
  std::vector<Denial> denials() override;
  [[nodiscard]] std::optional<std::uint64_t> peak_memory() const override { return peak_memory_; }
  [[nodiscard]] Usage tree_usage() const override;

  // Waits until the program inside is confined, for a bounded time; an executor that does not get
  // that far is an error. `command` is its process as this one sees it.
  struct Waiting {
    pid_t command;
    native::CommandReport report;
  };
  Result<Waiting> wait_for_program();
  Result<void> order(const InitOrder& order, int passed) const;
  // The namespace of the command's processes, whose memory is watched.
  void released(std::uint64_t pid_namespace) { pid_namespace_ = pid_namespace; }

 private:
  [[nodiscard]] std::string bound(const std::string& name) const;

  const Plan& plan_;
  pid_t pid_;
  Fd pidfd_;
  Fd channel_;
  Fd report_;
  native::Cgroup cgroup_;
  std::uint64_t pid_namespace_ = 0;  // of the command
  std::uint64_t ipc_memory_ = 0;
  std::optional<ChildEnd> ended_;
  std::optional<std::uint64_t> peak_memory_;
  sys::ProcessUsage usage_;
};

}  // namespace cordon::mxc
