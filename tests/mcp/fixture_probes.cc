// Tools that the robustness cases need: slow, stubborn, talkative and large ones.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/fd.h"
#include "fixture.h"

namespace cordon::mcp {
namespace {

std::int64_t number(const Call& call, std::string_view name, std::int64_t otherwise) {
  const Node* value = call.arguments().find(name);
  const auto* given = value != nullptr ? std::get_if<std::int64_t>(&value->value) : nullptr;
  return given != nullptr ? *given : otherwise;
}

std::string text(const Call& call, std::string_view name) {
  const Node* value = call.arguments().find(name);
  return value != nullptr && value->text() != nullptr ? *value->text() : std::string();
}

// One line in the file that FIXTURE_MARKS names: what happened, visible from outside even when no
// answer is sent.
void mark(const std::string& what) {
  const char* path = std::getenv("FIXTURE_MARKS");
  if (path == nullptr) return;
  const Fd file(::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  const std::string line = what + "\n";
  [[maybe_unused]] const ssize_t written = ::write(file.get(), line.data(), line.size());
}

ToolResult wait_for_cancel(Call& call) {
  const std::string tag = text(call, "tag");
  mark("begin " + tag);
  pause(call, static_cast<int>(number(call, "ms", 1000)));
  mark((call.cancelled() ? "cancelled " : "end ") + tag);
  return ToolResult::text("waited " + tag);
}

ToolResult ignore_cancel(Call& call) {
  mark("begin " + text(call, "tag"));
  ::poll(nullptr, 0, static_cast<int>(number(call, "ms", 1000)));
  mark("end " + text(call, "tag"));
  return ToolResult::text("did not listen");
}

ToolResult echo(Call& call) {
  mark("echo");
  return ToolResult::text(write_json(call.arguments(), JsonStyle::Compact));
}

ToolResult big(Call& call) {
  return ToolResult::text(std::string(static_cast<std::size_t>(number(call, "bytes", 0)), 'x'));
}

ToolResult chatter(Call& call) {
  const std::int64_t count = number(call, "count", 0);
  for (std::int64_t i = 0; i < count && !call.cancelled(); ++i) {
    call.progress(static_cast<double>(i), std::nullopt, std::string(200, 'p'));
  }
  return ToolResult::text("said " + std::to_string(count));
}

ToolResult approve(Call& call) {
  auto schema = read_json(
      R"({"type":"object","properties":{"decision":{"type":"string","enum":["deny","allow once"],
          "default":"deny"}},"required":["decision"]})",
      "schema");
  const Elicited answer = call.elicit("approve", "Allow " + text(call, "what") + "?", *schema);
  if (answer.decision == Elicited::Decision::Pending) return {};
  const Node* chosen = answer.content.find("decision");
  const bool allowed = answer.decision == Elicited::Decision::Accepted && chosen != nullptr &&
                       chosen->text() != nullptr && *chosen->text() == "allow once";
  mark(allowed ? "granted" : "denied");
  return ToolResult::text(allowed ? "granted" : "denied");
}

Tool with_schema(Tool tool, std::string_view properties, const std::vector<std::string>& required) {
  tool.input_schema = object_schema(properties, required);
  return tool;
}

}  // namespace

void add_probe_tools(Registry& registry, std::function<void(const std::string&)> changed) {
  constexpr std::string_view kTimed =
      R"({"ms":{"type":"integer","minimum":0,"maximum":60000},"tag":{"type":"string"}})";
  registry.tools.push_back(with_schema(plain_tool("wait", wait_for_cancel), kTimed, {}));
  registry.tools.push_back(with_schema(plain_tool("stubborn", ignore_cancel), kTimed, {}));
  registry.tools.push_back(with_schema(plain_tool("echo", echo), R"({
      "text":{"type":"string","minLength":1,"maxLength":100000},
      "count":{"type":"integer","minimum":1,"maximum":9},
      "ratio":{"type":"number"}, "on":{"type":"boolean"},
      "mode":{"type":"string","enum":["fast","slow"]},
      "argv":{"type":"array","items":{"type":"string","minLength":1},"minItems":1,"maxItems":4},
      "edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"}},
        "required":["old"],"additionalProperties":false}}})",
                                       {"text"}));
  registry.tools.push_back(
      with_schema(plain_tool("big", big),
                  R"({"bytes":{"type":"integer","minimum":0,"maximum":20000000}})", {"bytes"}));
  registry.tools.push_back(with_schema(plain_tool("chatter", chatter),
                                       R"({"count":{"type":"integer","minimum":0}})", {"count"}));
  registry.tools.push_back(
      with_schema(plain_tool("approve", approve), R"({"what":{"type":"string"}})", {"what"}));
  registry.tools.push_back(plain_tool("touch", [changed = std::move(changed)](Call&) {
    changed("test://watched-resource");
    return ToolResult::text("touched");
  }));
}

}  // namespace cordon::mcp
