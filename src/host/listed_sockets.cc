#include "host/listed_sockets.h"

#include <sys/stat.h>

#include "base/text.h"
#include "host/look.h"
#include "host/resolve.h"

namespace cordon {
namespace {

bool is_socket(const Canonical& place) {
  const auto seen = look_path(place.path);
  return seen && S_ISSOCK(seen->mode) && seen->id == place.id;
}

Grant grant_of(const PathRule& rule, const Canonical& place) {
  return {rule.text, place.lexical, place.path, Grant::Source::Policy, place.kind, place.id};
}

}  // namespace

Result<std::vector<Grant>> resolve_sockets(const std::vector<PathRule>& rules, const Caller& caller,
                                           std::vector<Reduction>& reductions,
                                           std::vector<NamedPath>& named) {
  std::vector<Grant> sockets;
  for (const PathRule& rule : rules) {
    CORDON_TRY(place, canonicalize(rule.text, rule.base, caller));
    named.push_back({place.lexical, place.path});
    if (place.kind == FileKind::Absent) {
      reductions.push_back({"sockets", rule.text, std::nullopt, Reduction::Because::Nonexistent});
      continue;
    }
    if (!is_socket(place)) {
      return fail(policy_error("net.sockets lists " + quote(rule.text) + ", which is no socket",
                               "grant files and directories in [fs]"));
    }
    sockets.push_back(grant_of(rule, place));
  }
  return sockets;
}

Result<std::vector<Grant>> resolve_ceiling_sockets(const std::vector<PathRule>& rules,
                                                   const Caller& caller,
                                                   std::vector<NamedPath>& named) {
  std::vector<Grant> sockets;
  for (const PathRule& rule : rules) {
    CORDON_TRY(place, canonicalize(rule.text, rule.base, caller));
    named.push_back({place.lexical, place.path});
    if (is_socket(place)) sockets.push_back(grant_of(rule, place));
  }
  return sockets;
}

}  // namespace cordon
