// RulesSource: what a sandbox may reach at this moment. A ceiling that the operator changes while a
// run goes on holds for its next connection; it can only narrow what the run's own rules say.
#pragma once

#include <functional>
#include <memory>

#include "cordon/policy.h"
#include "egress/live_rules.h"

namespace cordon {

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
