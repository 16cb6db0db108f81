// From the policy options of a command line to the policy and the ceilings that count. Shared by
// run, policy clamp and policy explain, so that all three judge the same thing.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cordon/policy.h"
#include "faces/cli/arguments.h"
#include "policy/host_facts.h"

namespace cordon {

struct AskedPolicy {
  Policy policy;
  std::vector<Ceiling> ceilings;
};

// Preset or file, then the flags: lists append, scalars replace, denies accumulate. `preset` is
// where a command line without --policy starts.
Result<AskedPolicy> asked_policy(const Arguments& arguments, const Caller& caller,
                                 std::string_view preset = "workspace");

// What --backend names, if it was given.
Result<std::optional<BackendKind>> asked_backend(const Arguments& arguments);

// What --profile names, if it was given. `seed`, which basic was called before, is told with a
// warning.
Result<std::optional<std::string_view>> asked_profile(const Arguments& arguments);

// The flags alone, onto a policy.
Result<void> apply_flags(const Arguments& arguments, const Caller& caller, Policy& policy);

}  // namespace cordon
