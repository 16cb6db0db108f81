// ConnectionBudget: how many connections one sandbox may still make. Every one that is dialled
// counts, whether or not somebody answers: trying is what tells the world.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace cordon {

// Thread-safe.
class ConnectionBudget {
 public:
  explicit ConnectionBudget(std::optional<std::uint64_t> most) : most_(most) {}

  [[nodiscard]] std::optional<std::uint64_t> most() const { return most_; }
  // False once they are used up.
  bool take() {
    if (!most_) return true;
    std::uint64_t taken = taken_.load();
    while (taken < *most_) {
      if (taken_.compare_exchange_weak(taken, taken + 1)) return true;
    }
    return false;
  }

 private:
  const std::optional<std::uint64_t> most_;
  std::atomic<std::uint64_t> taken_ = 0;
};

}  // namespace cordon
