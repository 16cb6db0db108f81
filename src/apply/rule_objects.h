// The objects that the rules of a policy are about, each opened once: what is compared with the
// denies is what Landlock gets, whatever its name leads to by then.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apply/refusal.h"
#include "base/fd.h"
#include "config/foreign/safeclaw_policy.h"

namespace cordon::apply {

struct RuleObject {
  SafeClawRule rule;
  Fd object;  // not valid: the path is not there, and the rule is left out
};

// A path that is not there is left out; one that cannot be reached otherwise is refused with the
// status Landlock.
Judged<std::vector<RuleObject>> open_rules(const std::vector<SafeClawRule>& rules);

// Landlock only grants, so a deny is held by granting nothing there; one that a grant covers, or
// that covers a grant, is refused. A denied path that is not there yet lies where its nearest
// parent that is there does.
Judged<void> check_denies(const std::vector<SafeClawRule>& denies,
                          const std::vector<RuleObject>& objects);

// Whether a rule lets what `path` leads to be executed; nothing if it is not there or cannot be
// told. Only for advice: the kernel decides.
std::optional<bool> may_execute(const std::string& path, const std::vector<RuleObject>& objects);

}  // namespace cordon::apply
