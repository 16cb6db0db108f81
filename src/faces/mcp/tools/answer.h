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

// Cutting text so that a result stays below what clients show whole. Costs are bytes of JSON.

// What the text of one result may hold: the smallest bound of the known clients.
inline constexpr std::size_t kResultBytes = 10'000;

// What UTF-8 text takes inside a JSON string.
std::size_t json_cost(std::string_view text);
// The longest beginning, and the longest end, of whole characters that costs at most this much.
std::string_view beginning_of(std::string_view text, std::size_t cost);
std::string_view end_of(std::string_view text, std::size_t cost);

// A text of which the middle may be missing already.
struct Pieces {
  std::string front;
  std::string back;
  std::uint64_t dropped = 0;  // bytes between them
};
struct Excerpt {
  std::string text;
  bool cut = false;
};
// Two fifths from the beginning, three from the end, and a line that tells what is missing: errors
// stand last.
Excerpt excerpt(const Pieces& pieces, std::size_t cost);

// Entries of a list in an answer.
inline constexpr std::size_t kMostListed = 16;

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

// What a server that keeps its runs adds to an answer.
struct RunHandle {
  std::string id;  // empty: it is not kept
  std::size_t room = kResultBytes;
};
// run_code's result for a command that was started.
// `refused` are the paths that were not even asked for.
ToolResult answer_run(const Report& report, const RequestedRun& wish, NodeList refused,
                      const CallCeilings& bounds, const SecretMask& mask,
                      const RunHandle& handle = {});

}  // namespace cordon::mcp
