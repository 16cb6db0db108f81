#include "policy/approval.h"

#include <algorithm>

#include "base/path.h"
#include "policy/net_rules.h"
#include "policy/protected_names.h"

namespace cordon {
namespace {

// Whether [ask] lets all of `path` be approved, with nothing protected or denied on the way: a
// grant that begins at a place begins below what would be held there.
bool may_be_approved(const ResolvedCeiling& ceiling, const PathModes& ask, PathMode wish,
                     std::string_view path) {
  const PathEntry* rule = ask.deepest(path);
  if (rule == nullptr || rule->mode < wish) return false;
  const bool whole = std::ranges::none_of(ask.entries(), [&](const auto& entry) {
    return entry.second.mode < wish && contains(path, entry.first);
  });
  // The entry of [ask] itself counts too: an approval never opens what is held.
  const std::string_view above = parent(rule->grant->path);
  return whole &&
         bound_of(protection_bound_below(ceiling, above, path, Grant::Source::Policy)) >= wish;
}

bool overlap(std::string_view a, std::string_view b) { return contains(a, b) || contains(b, a); }

bool is_used(const Approval& approval, const Effective& effective) {
  const auto touches = [&](const Grant& grant) { return overlap(approval.path, grant.path); };
  switch (approval.kind) {
    case Approval::Kind::Read:
    case Approval::Kind::Write:
      return std::ranges::any_of(effective.read, touches) ||
             std::ranges::any_of(effective.write, touches);
    case Approval::Kind::Net:
      return effective.net.mode == NetMode::Allow &&
             std::ranges::any_of(effective.net.allow, [&](const HostRule& rule) {
               return intersect(rule, approval.host).has_value();
             });
  }
  return true;
}

}  // namespace

void admit_path(ResolvedCeiling& ceiling, const ResolvedAsk& ask, PathMode wish,
                const Grant& place) {
  if (PathModes(ceiling.read, ceiling.write).at(place.path) >= wish) return;
  if (!may_be_approved(ceiling, PathModes(ask.read, ask.write), wish, place.path)) return;
  if (wish == PathMode::Write) {
    // Of two rules for one path the narrower would win.
    std::erase_if(ceiling.read, [&](const Grant& grant) { return grant.path == place.path; });
    ceiling.write.push_back(place);
  } else {
    ceiling.read.push_back(place);
  }
}

void admit_host(Ceiling& ceiling, const HostRule& host) {
  NetRules& net = ceiling.policy.net;
  if (!ceiling.bounds_net || net.mode == NetMode::Open) return;
  const auto covering = [&](const HostRule& rule) { return covers(rule, host); };
  if (std::ranges::none_of(ceiling.ask.net, covering)) return;
  if (std::ranges::any_of(net.allow, covering)) return;
  net.mode = NetMode::Allow;
  net.allow.push_back(host);
}

std::vector<std::string> approvals_used(std::span<const Approval> approved,
                                        const Effective& effective) {
  std::vector<std::string> ids;
  for (const Approval& approval : approved) {
    const bool listed = std::ranges::find(ids, approval.id) != ids.end();
    if (!listed && is_used(approval, effective)) ids.push_back(approval.id);
  }
  return ids;
}

}  // namespace cordon
