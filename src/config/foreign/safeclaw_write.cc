#include <algorithm>

#include "base/path.h"
#include "config/document_text.h"
#include "config/foreign/dialects.h"
#include "config/foreign/safeclaw_calls.h"
#include "config/foreign/safeclaw_policy.h"

namespace cordon {
namespace {

void add_rules(std::vector<SafeClawRule>& rules, const std::vector<std::string>& paths,
               SafeClawAccess access) {
  for (const std::string& path : paths) rules.push_back({path, access});
}

SafeClawNetwork safeclaw_network(Exporter& out) {
  const Domains domains = to_domains(out);
  SafeClawNetwork network;
  network.reach = domains.allowed.empty() ? SafeClawNetwork::Reach::None  //
                                          : SafeClawNetwork::Reach::Domains;
  for (const std::string& domain : domains.allowed) network.allowed.push_back({domain});
  for (const std::string& domain : domains.denied) network.denied.push_back({domain});
  return network;
}

// Rights there add up: a path that is only read inside one that is written would be writable.
Result<void> give_up_inner_reads(Exporter& out, const PlainPaths& paths) {
  for (const std::string& read : paths.read) {
    for (const std::string& write : paths.write) {
      CORDON_TRY(outer, out.places.real(write));
      CORDON_TRY(inner, out.places.real(read));
      if (!contains(outer, inner)) continue;
      out.restrictions.give_up("fs.read",
                               shown(read) + " would be writable inside " + shown(write));
      break;
    }
  }
  return {};
}

}  // namespace

Result<Node> export_safeclaw(Exporter& out) {
  CORDON_TRY(paths, plain_paths(out));
  if (paths.read.size() + paths.write.size() > kSafeClawMostAllow ||
      paths.deny.size() > kSafeClawMostDeny) {
    return fail(policy_error("the policy has more rules than its helper takes",
                             "64 grants and 16 denies are the most"));
  }
  CORDON_CHECK(give_up_inner_reads(out, paths));
  out.restrictions.give_up("fs.scratch", "there is no private space for temporary files");
  out.restrictions.give_up("env", "the environment is not a part of the document");
  give_up_limits(out, true);
  lose_what_is_ours(out);
  SafeClawPolicy policy;
  add_rules(policy.allow, paths.read, SafeClawAccess::Execute);
  add_rules(policy.allow, paths.write, SafeClawAccess::ReadWriteExecute);
  add_rules(policy.deny, paths.deny, SafeClawAccess::ReadWriteExecute);
  policy.syscalls = safeclaw_calls(SafeClawProfile::Default);
  out.lose("syscalls",
           "Cordon's own filter is no part of a policy: the helper's default stands in "
           "its place");
  policy.network = safeclaw_network(out);
  if (out.policy.limits.wall_ms) {
    policy.timeout_ms = std::min(*out.policy.limits.wall_ms, kSafeClawMostTimeout);
  }
  return encode_safeclaw(policy);
}

}  // namespace cordon
