// The verbs of all programs, in the order in which help shows them. What each takes stands beside
// it, in a header of plain constants: `cordon` explains and completes every verb, and links the
// code of its own alone.
#include "faces/cli/flag_table.h"

#include <algorithm>
#include <array>

#include "compat/command/apply_flags.h"
#include "compat/engine/command/export_flags.h"
#include "compat/mxc/command/mxc_flags.h"
#include "compat/oci/command/oci_flags.h"
#include "compat/srt/command/srt_flags.h"
#include "faces/cli/audit_flags.h"
#include "faces/cli/changes_flags.h"
#include "faces/cli/completion_flags.h"
#include "faces/cli/help_flags.h"
#include "faces/cli/hook_flags.h"
#include "faces/cli/learn_flags.h"
#include "faces/cli/policy_flags.h"
#include "faces/cli/run_flags.h"
#include "faces/cli/session_flags.h"
#include "faces/cli/why_flags.h"
#include "faces/demo/demo_flags.h"
#include "faces/doctor/doctor_flags.h"
#include "faces/fleet/fleet_flags.h"
#include "faces/loop/loop_flags.h"
#include "faces/mcp/mcp_flags.h"
#include "faces/setup/setup_flags.h"

namespace cordon {
namespace {

template <std::size_t... kSizes>
constexpr auto joined(const std::array<Verb, kSizes>&... parts) {
  std::array<Verb, (kSizes + ...)> all{};
  auto next = all.begin();
  ((next = std::ranges::copy(parts, next).out), ...);
  return all;
}

constexpr auto kVerbs =
    joined(std::array{flags::kRunVerb, flags::kWhyVerb, flags::kLearnVerb}, flags::kSessionVerbs,
           flags::kPolicyVerbs, flags::kExportVerbs, flags::kAuditVerbs, flags::kFleetVerbs,
           flags::kChangesVerbs, std::array{flags::kMcpVerb, flags::kLoopVerb}, flags::kHookVerbs,
           std::array{flags::kSetupVerb, flags::kDemoVerb, flags::kMxcVerb, flags::kSrtVerb,
                      flags::kOciVerb, flags::kApplyVerb, flags::kDoctorVerb,
                      flags::kCompletionVerb, flags::kHelpVerb});

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

const Verb& top_level() { return flags::kTopLevelVerb; }

const Verb* find_verb(std::string_view name) {
  const auto found = std::ranges::find(kVerbs, name, &Verb::name);
  return found == kVerbs.end() ? nullptr : &*found;
}

bool is_group(const Verb& verb) {
  return !verb.name.empty() && std::ranges::any_of(kVerbs, [&](const Verb& other) {
    return other.name.size() > verb.name.size() && other.name.starts_with(verb.name) &&
           other.name[verb.name.size()] == ' ';
  });
}

const Flag* find_flag(const Verb& verb, std::string_view name) {
  for (const FlagGroup& group : verb.groups) {
    const auto found = std::ranges::find(group.flags, name, &Flag::name);
    if (found != group.flags.end()) return &*found;
  }
  return nullptr;
}

}  // namespace cordon
