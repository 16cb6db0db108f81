// RulesSource: what a sandbox may reach at this moment. A ceiling that the operator changes while a
// run goes on holds for its next connection; it can only narrow what the run began with.
#pragma once

#include <functional>
#include <memory>

#include "cordon/policy.h"

namespace cordon {

// Thread-safe if `ceilings_now` is.
class RulesSource {
 public:
  using CeilingsNow = std::function<Result<std::vector<Ceiling>>()>;
  // Without a function the rules stay as they are.
  explicit RulesSource(NetRules rules, CeilingsNow ceilings_now = {});

  // Ceilings that cannot be read permit nothing.
  [[nodiscard]] std::shared_ptr<const NetRules> now() const;

 private:
  std::shared_ptr<const NetRules> at_start_;
  CeilingsNow ceilings_now_;
};

}  // namespace cordon
