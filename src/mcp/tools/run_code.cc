#include "mcp/tools/answer.h"
#include "mcp/tools/run_request.h"
#include "mcp/tools/tools.h"

namespace cordon::mcp {

ToolResult run_code(Toolbox& toolbox, const Call& call) {
  const std::string tool = "run_code";
  auto made = run_request(toolbox, call, tool, kDefaultWallMs);
  if (auto* refused = std::get_if<ToolResult>(&made)) return std::move(*refused);
  auto& request = std::get<RunRequest>(made);
  const Report report = run_contained(request.input, request.caller);
  if (report.error) return answer_not_started(toolbox, tool, report);
  return answer_run(report, request.wish, std::move(request.refused), request.bounds,
                    toolbox.mask());
}

}  // namespace cordon::mcp
