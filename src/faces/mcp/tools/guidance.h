// What a call was not given, and what the model is to do next. Guesses go by the policy and by
// names alone, so that nobody learns from them what exists outside.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/node.h"
#include "cordon/runner.h"
#include "faces/mcp/tools/call_ceilings.h"
#include "faces/mcp/tools/refusal.h"
#include "faces/mcp/tools/secret_mask.h"

namespace cordon::mcp {

Node not_granted_entry(std::string_view access, std::string_view path, std::string_view reason);
// What entries of not_granted were refused as.
std::vector<Refusal> refusals_of(const NodeList& refused, const CallCeilings& bounds);
// Of the paths a caller named, those that were not granted in full.
NodeList not_granted(const Report& report, const RequestedRun& wish, const CallCeilings& bounds);

// What a run that has ended was not given, as far as that can be told, and what to do next.
struct Guidance {
  std::string help;    // empty: nothing is to be said
  NodeList hints;      // what it may have failed of; the program has named it
  NodeList held_back;  // protected files that it wrote, and that the host did not get
  NodeList gone;       // what it wrote to private places, which ended with it
};
// `refused` are entries of not_granted. Of a run without an outcome nothing can be told.
Guidance guidance_of(const Report& report, const NodeList& refused, const CallCeilings& bounds,
                     const SecretMask& mask);
void add_guidance(Node& node, const Guidance& guidance);

}  // namespace cordon::mcp
