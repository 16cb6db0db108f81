// What an engine asks for, held against the ceilings of this host and the policy that the container
// names. It looks at the host and changes nothing there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compat/oci/demands.h"
#include "compat/oci/narrow.h"
#include "run/judge.h"

namespace cordon::oci {

struct NodeRules {
  std::vector<Ceiling> ceilings;   // every one that counts; none: nothing is permitted
  std::optional<Policy> named;     // what the container's annotation names
  std::vector<std::string> own;    // directories that hold what the engine makes for containers
  std::vector<std::string> roots;  // directories that hold the roots of containers
  bool makes_groups = true;        // the runtime puts the container into control groups
};

struct JudgedContainer {
  Policy asked;  // the engine's document as a policy asks
  std::optional<Judgement> judgement;
  Narrowing narrowing;
  std::vector<Reduction> reductions;  // what it gets less of, and is started all the same
  std::vector<Complaint> complaints;  // what it is refused for; empty: it may be started
};

// An error says that it could not be judged. `caller.cwd` is the bundle.
Result<JudgedContainer> judge_container(const Demands& demands, const NodeRules& rules,
                                        const Caller& caller);

// The names among `variables` that a ceiling or the named policy does not let inside.
std::set<std::string> refused_variables(const std::vector<std::string>& variables,
                                        const std::vector<Ceiling>& bounds);

// The policy as one more bound: what it does not grant is not there.
Ceiling as_bound(const Policy& policy, const std::vector<Ceiling>& ceilings);

// Whether a layer may be missing as far as the ceilings say.
bool all_accept_missing(const std::vector<Ceiling>& ceilings, Layer layer);

// All complaints as one error; `complaints` is not empty.
Error refusal_of(const std::vector<Complaint>& complaints);

}  // namespace cordon::oci
