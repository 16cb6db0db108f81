// The seatbelt backend: runs a command through sandbox-exec, for macOS. Unproven: it never ran
// there. Elsewhere it plans, so that the profile of a policy can be looked at, and starts nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "compat/seatbelt/seatbelt_init.h"
#include "plan/plan.h"
#include "sandbox/backend.h"

namespace cordon::seatbelt {

// The plan of a run on macOS: a profile for files and the network, limits of single processes, and
// nothing of what Linux has beside that.

inline constexpr const char* kSandboxExec = "/usr/bin/sandbox-exec";

// Refuses layers that a policy requires and no ceiling accepts to go without, lists of hosts and of
// sockets, published ports, and limits that nothing there can hold.
Result<Plan> make_plan(const Clamped& clamped, const HostFacts& facts, const Caller& caller,
                       const PlanRequest& request);

// sandbox-exec: the program of macOS that loads a profile and becomes a command.

// `command` starts with a path. The profile is on the command line, where whoever lists processes
// sees the paths in it.
std::vector<std::string> sandboxed(const std::string& program, const std::string& profile,
                                   const std::vector<std::string>& command);

// Tries it: what a profile permits happens, and what it denies does not. A program that is merely
// there, that hangs, or that runs a command unconfined is an error.
Result<void> check_sandbox_exec(const std::string& program);

// A command that sandbox-exec runs, held by its init.

class SeatbeltChild final : public Child {
 public:
  explicit SeatbeltChild(Kept kept) : kept_(std::move(kept)) {}
  ~SeatbeltChild() override { kill_and_wait(); }
  SeatbeltChild(const SeatbeltChild&) = delete;
  SeatbeltChild& operator=(const SeatbeltChild&) = delete;

  [[nodiscard]] int event_descriptor() const override { return kept_.channel.get(); }
  [[nodiscard]] bool bounds_memory() const override { return false; }
  void watch_memory() override {}
  [[nodiscard]] PolledFor memory_news() const override { return {}; }
  bool memory_killed() override { return false; }
  ChildEvent event() override;
  void signal(int number) override;
  void kill_and_wait() override { end(kept_); }
  [[nodiscard]] pid_t init_process() const override { return kept_.init; }
  [[nodiscard]] std::uint64_t ipc_memory() const override { return 0; }
  std::vector<Denial> denials() override { return {}; }
  [[nodiscard]] std::optional<std::uint64_t> peak_memory() const override { return std::nullopt; }
  [[nodiscard]] Usage tree_usage() const override;

 private:
  Kept kept_;
  std::optional<Ended> ended_;
};

std::unique_ptr<Backend> make_backend();
// With a program in the place of sandbox-exec, for tests; none: that of a system without it.
std::unique_ptr<Backend> make_backend_with(std::optional<std::string> program);

}  // namespace cordon::seatbelt
