#include "cli/hook_claude.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/shell_word.h"
#include "base/text.h"
#include "config/node.h"

namespace cordon {
namespace {

constexpr MessageBounds kBounds{8U << 20U, 100'000};
// The kernel takes no longer argument, its NUL included (MAX_ARG_STRLEN).
constexpr std::size_t kLongestArgument = 128 * 1024 - 1;
// What a Bash call may carry besides its command. A member this version does not know may be
// another way to act: "_simulatedSedEdit" makes the host write a file itself and run nothing.
constexpr std::array<std::string_view, 5> kBashMembers{
    "command", "timeout", "description", "run_in_background", "dangerouslyDisableSandbox"};

Result<const std::string*> text_member(const Node& map, std::string_view key) {
  const Node* member = map.find(key);
  const std::string* text = member == nullptr ? nullptr : member->text();
  if (text == nullptr) {
    return fail(usage_error("the call has no text " + quote(key)));
  }
  return text;
}

Result<std::string> contained(const std::string& command, std::span<const std::string> contain) {
  if (command.find('\0') != std::string::npos) {
    return fail(usage_error("the command holds a NUL character"));
  }
  if (command.size() > kLongestArgument) {
    return fail(usage_error("the command is longer than 128 KiB", "put it into a file"));
  }
  std::vector<std::string> words(contain.begin(), contain.end());
  words.insert(words.end(), {"/bin/bash", "-c", command});
  return shell_line(words);
}

Result<std::string> judge_bash(const NodeMap& input, std::span<const std::string> contain) {
  bool has_command = false;
  Node updated{NodeMap{}};
  for (const auto& [key, member] : input) {
    if (std::ranges::find(kBashMembers, key) == kBashMembers.end()) {
      return fail(usage_error("the Bash call has a member " + quote(key) +
                              " that this version does not know"));
    }
    if (key != "command") {
      updated.set(key, member);
    } else if (const std::string* command = member.text()) {
      CORDON_TRY(line, contained(*command, contain));
      updated.set(key, line);
      has_command = true;
    }
  }
  if (!has_command) return fail(usage_error("the call has no text \"command\""));
  Node decision{NodeMap{}};
  decision.set("hookEventName", "PreToolUse")
      .set("permissionDecision", "allow")
      .set("permissionDecisionReason", "contained by cordon run")
      .set("updatedInput", std::move(updated));
  return write_json(Node(NodeMap{{"hookSpecificOutput", std::move(decision)}}),
                    JsonStyle::Compact) +
         "\n";
}

}  // namespace

Result<std::string> judge_claude_call(std::string_view message,
                                      std::span<const std::string> contain) {
  const auto document = read_json_message(message, kBounds);
  if (!document) {
    return fail(usage_error("the message of the host cannot be read: " + document.error().what));
  }
  CORDON_TRY(event, text_member(*document, "hook_event_name"));
  if (*event != "PreToolUse") {
    return fail(usage_error("the event is " + quote(*event) + ", not PreToolUse"));
  }
  CORDON_TRY(tool, text_member(*document, "tool_name"));
  const Node* input = document->find("tool_input");
  const NodeMap* members = input == nullptr ? nullptr : input->map();
  if (members == nullptr) return fail(usage_error("the call has no tool_input"));
  if (*tool == "Bash") return judge_bash(*members, contain);
  // Another tool of the host that takes a command would run it outside. Servers have tools of their
  // own, which are not the host's shell.
  if (input->find("command") != nullptr && !tool->starts_with("mcp__")) {
    return fail(usage_error("the tool " + quote(*tool) + " runs commands and cannot be contained",
                            "use Bash"));
  }
  return std::string();
}

}  // namespace cordon
