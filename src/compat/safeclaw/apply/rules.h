// The rules of a policy about files: rights, and the objects they are about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "compat/safeclaw/apply/request.h"

namespace cordon::apply {

// The rights of Landlock that an access of a policy stands for.

enum class Target { Directory, File };

// Only rights that `abi` knows, and for a file only those that a file can have.
std::uint64_t rights_of(SafeClawAccess access, Target target, int abi);
// "READ_FILE", …
std::vector<std::string> right_names(std::uint64_t rights);

// The oldest that withholds truncating: before it a file that may only be read could be emptied.
inline constexpr int kOldestAbi = 3;

// The objects that the rules of a policy are about, each opened once: what is compared with the
// denies is what Landlock gets, whatever its name leads to by then.

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
