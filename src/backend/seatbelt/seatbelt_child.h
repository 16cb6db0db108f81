// A command that sandbox-exec runs, held by its keeper.
#pragma once

#include <optional>

#include "backend/backend.h"
#include "backend/seatbelt/keeper.h"

namespace cordon::seatbelt {

class SeatbeltChild final : public Child {
 public:
  SeatbeltChild(Kept kept, Enforcement enforcement)
      : kept_(std::move(kept)), enforcement_(std::move(enforcement)) {}
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
  [[nodiscard]] pid_t first_process() const override { return kept_.keeper; }
  [[nodiscard]] std::uint64_t ipc_memory() const override { return 0; }
  Fd take_terminal() override { return Fd(); }
  EgressDescriptors take_egress() override { return {}; }
  Fd take_socket_source() override { return Fd(); }
  [[nodiscard]] const Enforcement& enforcement() const override { return enforcement_; }
  std::vector<Denial> denials() override { return {}; }
  [[nodiscard]] std::optional<std::uint64_t> peak_memory() const override { return std::nullopt; }
  [[nodiscard]] Usage tree_usage() const override;

 private:
  Kept kept_;
  Enforcement enforcement_;
  std::optional<Ended> ended_;
};

}  // namespace cordon::seatbelt
