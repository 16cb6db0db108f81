// Workbench: what the tools of the profile `full` share beside the Toolbox.
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
#include "faces/mcp/tools/toolbox.h"
#include "faces/mcp/tools/tools.h"

namespace cordon::mcp {

struct Workbench {
  Workbench(std::shared_ptr<Toolbox> tools, std::string directory)
      : toolbox(std::move(tools)), state_directory(std::move(directory)) {}

  const std::shared_ptr<Toolbox> toolbox;
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

// The tools of the profile `full`: those of `seed` with more parameters, and more of them.
// docs/mcp.md describes their inputs and answers.

void add_full_tools(Registry& registry, const Switches& switches,
                    const std::shared_ptr<Workbench>& bench);

// cordon://policy, runs and audit; two prompts. They come with the tools.
void add_full_resources(Registry& registry, const std::shared_ptr<Workbench>& bench);

// One for each; the arguments are those of the schema.
ToolResult run_command(Workbench& bench, Call& call);  // run_code
ToolResult start_process(Workbench& bench, Call& call);
ToolResult read_output(Workbench& bench, Call& call);
ToolResult write_stdin(Workbench& bench, Call& call);
ToolResult stop_process(Workbench& bench, Call& call);
ToolResult list_processes(Workbench& bench, Call& call);
ToolResult read_file_page(Workbench& bench, Call& call);    // read_local_file
ToolResult write_file_whole(Workbench& bench, Call& call);  // write_local_file
ToolResult edit_local_file(Workbench& bench, Call& call);
ToolResult list_files(Workbench& bench, Call& call);
ToolResult search_files(Workbench& bench, Call& call);
ToolResult workspace_diff(Workbench& bench, Call& call);
ToolResult explain_denial(Workbench& bench, Call& call);
ToolResult get_limits(Workbench& bench, Call& call);
ToolResult request_access(Workbench& bench, Call& call);
ToolResult approved_unsafe_write(Workbench& bench, Call& call);  // unsafe_write_local_file

// Before the first call that may change something: what workspace_diff compares with.
void look_before_changes(Workbench& bench, Call& call);

std::string_view full_instructions();

// RecordedCall: a call that starts no run of its own. Its record is durable before it does
// anything, and closed with its answer.

class RecordedCall {
 public:
  // The other alternative is the answer to a call that could not be recorded, or whose ceilings
  // cannot be read.
  static std::variant<RecordedCall, ToolResult> begin(Toolbox& toolbox, const Call& call,
                                                      const std::string& tool);

  // The same for a call that knows more about itself: what stands in `action` is recorded.
  static std::variant<RecordedCall, ToolResult> begin(Toolbox& toolbox, const Call& call,
                                                      CallCeilings bounds, audit::Action action);

  [[nodiscard]] const CallCeilings& bounds() const { return bounds_; }
  // Exactly one of them.
  ToolResult done(Node node);
  ToolResult failed(const ToolFault& fault);

 private:
  RecordedCall(Toolbox& toolbox, std::string tool, CallCeilings bounds,
               audit::Recorder::Ticket ticket);
  void close(audit::Ending ending);

  Toolbox* toolbox_;
  std::string tool_;
  CallCeilings bounds_;
  audit::Recorder::Ticket ticket_;
};

}  // namespace cordon::mcp
