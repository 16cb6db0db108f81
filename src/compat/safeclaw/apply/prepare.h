// Everything that is done before the first layer: afterwards nothing is read, opened or allocated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "compat/safeclaw/apply/calls.h"
#include "compat/safeclaw/apply/request.h"
#include "compat/safeclaw/apply/rules.h"
#include "config/node.h"

namespace cordon::apply {

struct RuleState {
  std::string path;
  std::uint64_t rights = 0;  // none: the path is not there, and the rule is left out
};

struct Preparation {
  int abi = 0;
  std::uint64_t handled = 0;  // rights that are withheld wherever no rule gives them
  std::vector<RuleState> rules;
  Fd ruleset;
  NamedCalls calls;
  std::vector<sock_filter> filter;
  std::vector<std::string> candidates;  // where the command is looked for, in order
  std::string advice;                   // a word about the command beforehand; empty: none
};

Judged<Preparation> prepare(const SafeClawPolicy& policy, const Request& request);
// What --dry-run answers.
Node describe(const Preparation& made);

}  // namespace cordon::apply
