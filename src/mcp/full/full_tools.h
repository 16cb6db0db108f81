// The tools of the profile `full`: those of `seed` with more parameters, and more of them.
// docs/mcp.md describes their inputs and answers.
#pragma once

#include <memory>

#include "mcp/full/workbench.h"
#include "mcp/registry.h"
#include "mcp/tools/tools.h"

namespace cordon::mcp {

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

}  // namespace cordon::mcp
