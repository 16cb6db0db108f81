// The answers of the tools: one JSON document as text. A failure has {error, message, help, type},
// in the words that entrabot uses; what a model reads never lists what the operator permits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/runner.h"
#include "faces/mcp/call.h"
#include "faces/mcp/tools/call_ceilings.h"
#include "faces/mcp/tools/refusal.h"
#include "faces/mcp/tools/secret_mask.h"

namespace cordon::mcp {

// Entries of a list in an answer.
inline constexpr std::size_t kMostListed = 16;

// Without control characters, and cut where a name is past every use.
std::string shortened(std::string_view text);

// Whether it is a limit of the policy that a run met.
bool is_limit(const Denial& denial);

struct ToolFault {
  std::string error;    // "Policy error"
  std::string message;  // one sentence
  std::string help;     // what to do next
  std::string type;     // "SandboxPolicyError"
};

// How run_code tells why nothing was started.
ToolFault fault_of(const Error& error);
ToolFault bad_arguments(const std::string& fault);
// That something lies outside, in the words a model is to pass on.
std::string outside_help(const CallCeilings& bounds);

// Members that every answer begins with.
Node& add_fault(Node& node, const ToolFault& fault);
ToolResult answer_fault(const ToolFault& fault, const std::optional<std::string>& audit_id,
                        std::optional<int> exit_code = std::nullopt);
ToolResult answer_node(const Node& node, bool is_error);

// How a command ended, where that was not by itself.
struct EndWords {
  std::optional<int> signal;
  std::string kill_reason;  // empty: it exited
};
EndWords words_for(const End& end);

// How many protected files a run made appear that were moved out of the tree; what is only reported
// stays where it is.
std::size_t moved_away(const Outcome& outcome);

// How many changes of protected files did not reach the host, those among them: `cordon changes`
// has them.
std::size_t held_back(const Report& report);

// Members that tell how a run was held.
void add_account(Node& node, const Report& report);

}  // namespace cordon::mcp
