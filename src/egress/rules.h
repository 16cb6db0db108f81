// RulesSource: what a sandbox may reach at this moment. A ceiling that the operator changes while a
// run goes on holds for its next connection; it can only narrow what the run's own rules say.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "cordon/policy.h"

namespace cordon {

// LiveRules: the rules that the connections of one sandbox are judged by. They can be replaced as a
// whole while it runs; what was judged before stays as it was judged.

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

// Thread-safe if `ceilings_now` is.
class RulesSource {
 public:
  using CeilingsNow = std::function<Result<std::vector<Ceiling>>()>;
  // Without a function no ceiling is read again.
  RulesSource(std::shared_ptr<const LiveRules> own, CeilingsNow ceilings_now)
      : own_(std::move(own)), ceilings_now_(std::move(ceilings_now)) {}
  explicit RulesSource(NetRules rules, CeilingsNow ceilings_now = {})
      : RulesSource(std::make_shared<const LiveRules>(std::move(rules)), std::move(ceilings_now)) {}

  // Ceilings that cannot be read permit nothing.
  [[nodiscard]] std::shared_ptr<const NetRules> now() const;

 private:
  std::shared_ptr<const LiveRules> own_;
  CeilingsNow ceilings_now_;
};

}  // namespace cordon
