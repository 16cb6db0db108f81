// FullToolContext: what the tools of the profile `full` share beside the ToolContext.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "faces/mcp/full/output.h"
#include "faces/mcp/full/own_records.h"
#include "faces/mcp/full/process.h"
#include "faces/mcp/full/snapshots.h"
#include "faces/mcp/registry.h"
#include "faces/mcp/tools/answer.h"
#include "faces/mcp/tools/tool_context.h"
#include "faces/mcp/tools/tools.h"

namespace cordon::mcp {

struct FullToolContext {
  FullToolContext(std::shared_ptr<ToolContext> tools, std::string directory)
      : context(std::move(tools)), state_directory(std::move(directory)) {}

  const std::shared_ptr<ToolContext> context;
  const std::string state_directory;  // for files without names
  const Cursors cursors;
  ProcessTable processes{TableBounds{}};
  Verdicts verdicts;
  OwnRecords records;
  Snapshots snapshots;
  std::mutex start_mutex;
  bool start_was_looked_at = false;     // under the mutex
  std::vector<std::string> tool_names;  // set before the first call
};

// The tools of the profile `full`: those of `basic` with more parameters, and more of them.
// docs/mcp.md describes their inputs and answers.

void add_full_tools(Registry& registry, const Switches& switches,
                    const std::shared_ptr<FullToolContext>& bench);

// cordon://policy, runs and audit; two prompts. They come with the tools.
void add_full_resources(Registry& registry, const std::shared_ptr<FullToolContext>& bench);

// One for each; the arguments are those of the schema.
ToolResult run_command(FullToolContext& bench, Call& call);  // run_code
ToolResult start_process(FullToolContext& bench, Call& call);
ToolResult read_output(FullToolContext& bench, Call& call);
ToolResult write_stdin(FullToolContext& bench, Call& call);
ToolResult stop_process(FullToolContext& bench, Call& call);
ToolResult list_processes(FullToolContext& bench, Call& call);
ToolResult read_file_page(FullToolContext& bench, Call& call);    // read_local_file
ToolResult write_file_whole(FullToolContext& bench, Call& call);  // write_local_file
ToolResult edit_local_file(FullToolContext& bench, Call& call);
ToolResult list_files(FullToolContext& bench, Call& call);
ToolResult search_files(FullToolContext& bench, Call& call);
ToolResult workspace_diff(FullToolContext& bench, Call& call);
ToolResult explain_denial(FullToolContext& bench, Call& call);
ToolResult get_limits(FullToolContext& bench, Call& call);
ToolResult request_access(FullToolContext& bench, Call& call);
ToolResult approved_unsafe_write(FullToolContext& bench, Call& call);  // unsafe_write_local_file

// Before the first call that may change something: what workspace_diff compares with.
void look_before_changes(FullToolContext& bench, Call& call);

std::string full_instructions(const CallCeilings& bounds);

// RecordedCall: a call that starts no run of its own. Its record is durable before it does
// anything, and closed with its answer.

class RecordedCall {
 public:
  // The other alternative is the answer to a call that could not be recorded, or whose ceilings
  // cannot be read.
  static std::variant<RecordedCall, ToolResult> begin(ToolContext& context, const Call& call,
                                                      const std::string& tool);

  // The same for a call that knows more about itself: what stands in `action` is recorded.
  static std::variant<RecordedCall, ToolResult> begin(ToolContext& context, const Call& call,
                                                      CallCeilings bounds, audit::Action action);

  [[nodiscard]] const CallCeilings& bounds() const { return bounds_; }
  // Exactly one of them.
  ToolResult done(Node node);
  ToolResult failed(const ToolFault& fault);

 private:
  RecordedCall(ToolContext& context, std::string tool, CallCeilings bounds,
               audit::Recorder::Ticket ticket);
  void close(audit::Ending ending);

  ToolContext* context_;
  std::string tool_;
  CallCeilings bounds_;
  audit::Recorder::Ticket ticket_;
};

}  // namespace cordon::mcp
