// unsafe_write_local_file of the profile `full`: a person at the client is asked, and everything
// but their yes is a no. The client could answer in their place; the tool is only there because the
// operator switched it on.
#include "base/sha256.h"
#include "base/text.h"
#include "host/resolve.h"
#include "mcp/full/decision.h"
#include "mcp/full/full_tools.h"
#include "mcp/tools/answer.h"

namespace cordon::mcp {
namespace {

// A fixed form around the quoted target, so that what a program printed cannot draw another dialog.
std::string write_question(const std::string& canonical, std::size_t bytes) {
  return "Allow one write of " + std::to_string(bytes) + " bytes, outside of every sandbox, to " +
         quote(canonical) + "?";
}

}  // namespace

ToolResult approved_unsafe_write(Workbench& bench, Call& call) {
  Toolbox& toolbox = *bench.toolbox;
  const std::string tool = "unsafe_write_local_file";
  const auto caller = identify_caller();
  if (!caller) return answer_fault(fault_of(caller.error()), std::nullopt);
  const auto place = canonicalize(text_argument(call, "path"), caller->cwd, *caller);
  // What cannot be resolved is refused there, with its record.
  if (!place) return unsafe_write_local_file(toolbox, call);
  const auto no = [&](const char* why) {
    const ToolFault fault{"Permission denied", why,
                          "Tell the user. write_local_file needs no approval inside what the "
                          "operator allows.",
                          "SandboxDeniedError"};
    return answer_fault(fault, toolbox.refuse(*caller, call, tool, policy_error(why)));
  };
  const std::string question = write_question(place->path, text_argument(call, "content").size());
  if (question.size() > kLongestQuestion) return no("the path is too long to be shown to a person");
  // The name of the question holds where the path leads: if a link leads elsewhere by the time the
  // answer comes, that answer is to another question.
  const std::string key = "approve-" + sha256_hex(place->path).substr(0, 32);
  const Elicited answer = call.elicit(key, question, decision_schema());
  if (answer.decision == Elicited::Decision::Pending) return {};
  if (!says_yes(answer)) return no("nobody at the client approved this write");
  return unsafe_write_to(toolbox, call, place->path);
}

}  // namespace cordon::mcp
