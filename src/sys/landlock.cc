#include "sys/landlock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace cordon::sys {
namespace {

// The three calls have one number on every architecture.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr unsigned kVersionFlag = 1;
constexpr unsigned kErrataFlag = 2;
constexpr int kRulePathBeneath = 1;

struct RulesetAttribute {
  std::uint64_t handled_file;
  std::uint64_t handled_net;
  std::uint64_t scoped;
};

struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed;
  std::int32_t parent;
};

int negative_errno(long result) { return result < 0 ? -errno : static_cast<int>(result); }

}  // namespace

int landlock_abi() {
  const long abi = ::syscall(kCreateRuleset, nullptr, 0UL, kVersionFlag);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

std::uint32_t landlock_errata() {
  const long errata = ::syscall(kCreateRuleset, nullptr, 0UL, kErrataFlag);
  return errata > 0 ? static_cast<std::uint32_t>(errata) : 0;
}

int landlock_create_ruleset(std::uint64_t file_rights, std::uint64_t scopes,
                            std::uint64_t net_rights) {
  const RulesetAttribute attribute{file_rights, net_rights, scopes};
  // An older kernel refuses a structure with fields it does not know, even if they are zero.
  const std::size_t size =
      scopes != 0 || net_rights != 0 ? sizeof attribute : sizeof attribute.handled_file;
  return negative_errno(::syscall(kCreateRuleset, &attribute, size, 0U));
}

int landlock_add_path(int ruleset, int path, std::uint64_t rights) {
  const PathBeneath rule{rights, path};
  return negative_errno(::syscall(kAddRule, ruleset, kRulePathBeneath, &rule, 0U));
}

int landlock_restrict_self(int ruleset) {
  return negative_errno(::syscall(kRestrictSelf, ruleset, 0U));
}

}  // namespace cordon::sys
