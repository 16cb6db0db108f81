#include "faces/cli/hook.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "base/text.h"
#include "config/node.h"
#include "faces/cli/console.h"
#include "faces/cli/helper_program.h"
#include "faces/cli/policy_options.h"
#include "faces/cli/verbs.h"
#include "host/resolve.h"
#include "run/judge.h"

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

namespace {

// cordon hook: an agent host asks before a tool call, and the answer makes it a contained one. The
// host goes on with the original call unless the answer is exactly exit status 2, so every end of
// this process that is not a complete answer is made that status.

constexpr int kBlocked = 2;
constexpr unsigned kPatienceSeconds = 10;
constexpr std::size_t kLongestMessage = 8U << 20U;

extern "C" void block_call(int) {
  constexpr std::string_view kLine =
      "cordon: hook: interrupted or out of time, so the call is blocked\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kLine.data(), kLine.size());
  ::_exit(kBlocked);
}

// A death by signal is no exit status 2, and the host would run the command uncontained.
void turn_deaths_into_refusals() {
  struct sigaction action {};
  action.sa_handler = block_call;
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV,
                           SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ, SIGSYS}) {
    ::sigaction(signal, &action, nullptr);
  }
  ::alarm(kPatienceSeconds);
}

Result<std::string> read_message() {
  std::string message;
  std::array<char, 65536> part{};
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail(setup_error("cannot read the message of the host", errno));
    if (count == 0) return message;
    message.append(part.data(), static_cast<std::size_t>(count));
    if (message.size() > kLongestMessage) {
      return fail(usage_error("the message of the host is longer than 8 MiB"));
    }
  }
}

// The line that `cordon hook` was given, as a line of `cordon run`.
Result<std::vector<std::string>> contained_line(const Arguments& arguments) {
  CORDON_TRY(executable, own_executable());
  std::vector<std::string> words{executable, "run"};
  for (const GivenFlag& flag : arguments.flags) {
    words.push_back(std::string(flag.name) + "=" + std::string(flag.value));
  }
  words.emplace_back("--");
  for (const std::string& word : words) {
    // It travels as JSON, which has no form for other bytes.
    if (!is_valid_utf8(word)) return fail(usage_error(quote(word) + " is not UTF-8"));
  }
  return words;
}

// Each call would have a stage of its own: the next command would not see what this one wrote, and
// the agent would take its work for lost. What refuses a run otherwise the run itself tells.
Result<void> refuse_review(const Arguments& arguments) {
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(asked, asked_policy(arguments, caller));
  JudgedPlaces places;
  places.asked.emplace();
  const auto judged = judge_policy(asked.policy, asked.ceilings, caller, places);
  if (!judged) return {};
  const Effective& effective = judged->clamped.effective();
  if (effective.mode != WriteMode::Staged || effective.stage != StageEnd::Review) return {};
  if (effective.write.empty()) return {};
  return fail({.kind = ErrorKind::Unsupported,
               .what = "what a command writes cannot wait for a review here: the next command "
                       "would not see it",
               .hint = "write stage = \"auto\" below [fs] in the policy and in its ceilings, or "
                       "run the whole agent: cordon run --stage=review -- claude"});
}

Result<std::string> judge(const Arguments& arguments) {
  CORDON_TRY(contain, contained_line(arguments));
  CORDON_TRY(message, read_message());
  CORDON_TRY(answer, judge_claude_call(message, contain));
  if (!answer.empty()) CORDON_CHECK(refuse_review(arguments));
  return answer;
}

}  // namespace

int verb_hook_claude(const Arguments& arguments) {
  turn_deaths_into_refusals();
  const auto answer = judge(arguments);
  if (!answer) {
    std::string line = message(answer.error());
    if (!answer.error().hint.empty()) line.append("; ").append(answer.error().hint);
    say("cordon: hook: " + sanitize(line) + "\n");
    return kBlocked;
  }
  return say_answer(*answer) ? kAnswerYes : kBlocked;
}

}  // namespace cordon
