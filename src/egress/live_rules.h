// LiveRules: the rules that the connections of one sandbox are judged by. They can be replaced as a
// whole while it runs; what was judged before stays as it was judged.
#pragma once

#include <memory>
#include <mutex>

#include "cordon/policy.h"

namespace cordon {

// Thread-safe.
class LiveRules {
 public:
  explicit LiveRules(NetRules rules) { replace(std::move(rules)); }

  // One question is judged by one answer of this function, never by parts of two.
  [[nodiscard]] std::shared_ptr<const NetRules> now() const {
    const std::lock_guard lock(mutex_);
    return rules_;
  }
  void replace(NetRules rules) {
    auto next = std::make_shared<const NetRules>(std::move(rules));
    const std::lock_guard lock(mutex_);
    rules_ = std::move(next);
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const NetRules> rules_;
};

}  // namespace cordon
