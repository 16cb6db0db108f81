#include "faces/cli/hook.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/fd.h"
#include "base/text.h"
#include "config/node.h"
#include "faces/cli/console.h"
#include "faces/cli/helper_program.h"
#include "faces/cli/policy_options.h"
#include "faces/cli/verbs.h"
#include "host/inspect.h"
#include "host/resolve.h"
#include "run/judge.h"

namespace cordon {
namespace {

constexpr MessageBounds kBounds{8U << 20U, 100'000};
// The kernel takes no longer argument, its NUL included (MAX_ARG_STRLEN).
constexpr std::size_t kLongestArgument = 128 * 1024 - 1;

// How one host asks.
struct Dialect {
  std::string_view program;
  std::string_view event;  // how it calls the moment before a tool is used
  // The members of its message; empty where it does not say.
  std::string_view event_key;
  std::string_view tool_key;
  std::string_view input_key;
  std::string_view shell;  // the tool that runs commands
  // What a call of it may carry. A member this version does not know may be another way to act:
  // "_simulatedSedEdit" makes Claude Code write a file itself and run nothing.
  std::span<const std::string_view> members;
  std::string_view served;  // how the names of servers' tools begin; empty: as no other tool's
  std::string_view typing;  // the tool that types into a shell that runs; empty: there is none
};

constexpr std::array<std::string_view, 5> kClaudeMembers{
    "command", "timeout", "description", "run_in_background", "dangerouslyDisableSandbox"};
constexpr std::array<std::string_view, 1> kCodexMembers{"command"};
constexpr std::array<std::string_view, 6> kCopilotMembers{"command", "description",  "shellId",
                                                          "mode",    "initial_wait", "detach"};
constexpr std::array<std::string_view, 5> kGeminiMembers{"command", "description", "dir_path",
                                                         "is_background", "delay_ms"};

Dialect dialect_of(HookHost host) {
  switch (host) {
    case HookHost::Claude:
      return {"claude", "PreToolUse",   "hook_event_name", "tool_name", "tool_input",
              "Bash",   kClaudeMembers, "mcp__",           ""};
    case HookHost::Codex:
      return {"codex", "PreToolUse",  "hook_event_name", "tool_name", "tool_input",
              "Bash",  kCodexMembers, "mcp__",           ""};
    case HookHost::Copilot:
      return {"copilot", "preToolUse",    "", "toolName",  "toolArgs",
              "bash",    kCopilotMembers, "", "write_bash"};
    case HookHost::Gemini:
      return {"gemini",       "BeforeTool", "hook_event_name",
              "tool_name",    "tool_input", "run_shell_command",
              kGeminiMembers, "mcp_",       ""};
  }
  CORDON_BUG("no such host");
}

// The answer that lets the call happen as it now is.
std::string answer_with(HookHost host, Node call) {
  constexpr std::string_view kReason = "contained by cordon run";
  Node answer{NodeMap{}};
  Node specific{NodeMap{{"hookEventName", Node(dialect_of(host).event)}}};
  switch (host) {
    case HookHost::Claude:
    case HookHost::Codex:
      specific.set("permissionDecision", "allow").set("permissionDecisionReason", kReason);
      answer.set("hookSpecificOutput", specific.set("updatedInput", std::move(call)));
      break;
    case HookHost::Copilot:
      answer.set("permissionDecision", "allow").set("permissionDecisionReason", kReason);
      answer.set("modifiedArgs", std::move(call));
      break;
    case HookHost::Gemini:
      answer.set("decision", "allow");
      answer.set("hookSpecificOutput", specific.set("tool_input", std::move(call)));
      break;
  }
  return write_json(answer, JsonStyle::Compact) + "\n";
}

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

Result<std::string> judge_shell(HookHost host, const NodeMap& input,
                                std::span<const std::string> contain) {
  const Dialect dialect = dialect_of(host);
  bool has_command = false;
  Node updated{NodeMap{}};
  for (const auto& [key, member] : input) {
    if (std::ranges::find(dialect.members, key) == dialect.members.end()) {
      return fail(usage_error("the call of " + std::string(dialect.shell) + " has a member " +
                              quote(key) + " that this version does not know"));
    }
    const bool* flag = std::get_if<bool>(&member.value);
    if (key == "detach" && (flag == nullptr || *flag)) {
      return fail(
          usage_error("a command that outlives the host cannot be contained", "leave detach out"));
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
  return answer_with(host, std::move(updated));
}

}  // namespace

Result<std::string> judge_host_call(HookHost host, std::string_view message,
                                    std::span<const std::string> contain) {
  const Dialect dialect = dialect_of(host);
  const auto document = read_json_message(message, kBounds);
  if (!document) {
    return fail(usage_error("the message of the host cannot be read: " + document.error().what));
  }
  if (!dialect.event_key.empty()) {
    CORDON_TRY(event, text_member(*document, dialect.event_key));
    if (*event != dialect.event) {
      return fail(
          usage_error("the event is " + quote(*event) + ", not " + std::string(dialect.event)));
    }
  }
  CORDON_TRY(tool, text_member(*document, dialect.tool_key));
  const Node* input = document->find(dialect.input_key);
  const NodeMap* members = input == nullptr ? nullptr : input->map();
  if (members == nullptr) {
    return fail(usage_error("the call has no " + std::string(dialect.input_key)));
  }
  if (*tool == dialect.shell) return judge_shell(host, *members, contain);
  if (!dialect.typing.empty() && *tool == dialect.typing) {
    return fail(usage_error("the tool " + quote(*tool) + " types into a shell, which is not judged",
                            "give the command its input: use " + std::string(dialect.shell)));
  }
  // Another tool of the host that takes a command would run it outside. Servers have tools of their
  // own, which are not the host's shell.
  const bool served = !dialect.served.empty() && tool->starts_with(dialect.served);
  if (input->find("command") != nullptr && !served) {
    return fail(usage_error("the tool " + quote(*tool) + " runs commands and cannot be contained",
                            "use " + std::string(dialect.shell)));
  }
  return std::string();
}

std::optional<Error> no_hook_for(std::string_view host) {
  struct Absent {
    std::string_view host;
    std::string_view why;
  };
  // A hook that cannot change a call, or of which nobody has seen that it does, contains nothing.
  constexpr std::array<Absent, 5> kAbsent{{
      {"cursor",
       "by its documentation beforeShellExecution permits or refuses a command and does not change "
       "it, so what it permits runs uncontained; its other hooks were not tried"},
      {"windsurf",
       "by its documentation pre_run_command permits or refuses a command and does not change it, "
       "so what it permits runs uncontained"},
      {"vscode",
       "its hooks are a preview that may change, and it was not tried whether the editor runs what "
       "a hook answers"},
      {"opencode",
       "it asks no program before a command: only a plugin, which runs inside of it, may change "
       "one"},
      {"qwen", "version 0.15.10 runs the command as it came, whatever a hook answers"},
  }};
  const auto found = std::ranges::find(kAbsent, host, &Absent::host);
  if (found == kAbsent.end()) return std::nullopt;
  const std::string name(host);
  return usage_error(
      "there is no hook for " + name + ": " + std::string(found->why),
      "give it contained tools: cordon mcp --print-config " + name + " --workspace .");
}

namespace {

// cordon hook: an agent host asks before a tool call, and the answer makes it a contained one. The
// host goes on with the original call unless the answer is exactly exit status 2, so every end of
// this process that is not a complete answer is made that status.

constexpr int kBlocked = 2;
constexpr unsigned kHookTimeoutSeconds = 10;
constexpr std::size_t kLongestMessage = 8U << 20U;
constexpr std::size_t kLongestStat = 4096;

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
  ::alarm(kHookTimeoutSeconds);
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

struct Ancestor {
  std::string name;
  std::uint64_t parent = 0;
};

std::optional<Ancestor> ancestor(std::uint64_t pid) {
  const Fd file(::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  const auto text = file.valid() ? read_all(file.get(), kLongestStat) : std::nullopt;
  if (!text) return std::nullopt;
  // "PID (NAME) STATE PARENT ...": a name may hold anything, parentheses too.
  const std::size_t begin = text->find('(');
  const std::size_t end = text->rfind(')');
  if (begin == std::string::npos || end == std::string::npos || end + 4 > text->size()) {
    return std::nullopt;
  }
  const std::string_view behind = std::string_view(*text).substr(end + 4);
  const auto parent = parse_number(behind.substr(0, behind.find(' ')));
  if (!parent) return std::nullopt;
  return Ancestor{text->substr(begin + 1, end - begin - 1), *parent};
}

}  // namespace

std::optional<std::uint64_t> asking_process() {
  // What a hook may be written behind ends with it as well.
  constexpr std::array<std::string_view, 14> kShells{"sh",     "bash",   "dash", "zsh",    "ash",
                                                     "ksh",    "fish",   "env",  "nice",   "ionice",
                                                     "stdbuf", "setsid", "sudo", "timeout"};
  constexpr int kMostShells = 12;
  auto pid = static_cast<std::uint64_t>(::getppid());
  for (int i = 0; i < kMostShells && pid > 1; ++i) {
    const auto found = ancestor(pid);
    if (!found) return std::nullopt;
    if (std::ranges::find(kShells, found->name) == kShells.end()) return pid;
    pid = found->parent;
  }
  return std::nullopt;
}

namespace {

// The line that `cordon hook` was given, as a line of `cordon run`.
Result<std::vector<std::string>> contained_line(const Arguments& arguments) {
  CORDON_TRY(executable, own_executable());
  std::vector<std::string> words{executable, "run"};
  for (const GivenFlag& flag : arguments.flags) {
    words.push_back(std::string(flag.name) + "=" + std::string(flag.value));
  }
  if (const auto host = asking_process()) words.push_back("--ends-with=" + std::to_string(*host));
  words.emplace_back("--");
  for (const std::string& word : words) {
    // It travels as JSON, which has no form for other bytes.
    if (!is_valid_utf8(word)) return fail(usage_error(quote(word) + " is not UTF-8"));
  }
  return words;
}

// Each call would have a stage of its own: the next command would not see what this one wrote, and
// the agent would take its work for lost. What refuses a run otherwise the run itself tells.
Result<void> refuse_review(HookHost host, const Arguments& arguments) {
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
                       "run the whole agent: cordon run --stage=review -- " +
                       std::string(dialect_of(host).program)});
}

Result<std::string> judge(HookHost host, const Arguments& arguments) {
  CORDON_TRY(contain, contained_line(arguments));
  CORDON_TRY(message, read_message());
  CORDON_TRY(answer, judge_host_call(host, message, contain));
  if (!answer.empty()) CORDON_CHECK(refuse_review(host, arguments));
  return answer;
}

}  // namespace

namespace {

int answer_hook(HookHost host, const Arguments& arguments) {
  turn_deaths_into_refusals();
  const auto answer = judge(host, arguments);
  if (!answer) {
    std::string line = message(answer.error());
    if (!answer.error().hint.empty()) line.append("; ").append(answer.error().hint);
    say("cordon: hook: " + sanitize(line) + "\n");
    return kBlocked;
  }
  return say_answer(*answer) ? kAnswerYes : kBlocked;
}

}  // namespace

int verb_hook_claude(const Arguments& arguments) {
  return answer_hook(HookHost::Claude, arguments);
}

int verb_hook_codex(const Arguments& arguments) { return answer_hook(HookHost::Codex, arguments); }

int verb_hook_copilot(const Arguments& arguments) {
  return answer_hook(HookHost::Copilot, arguments);
}

int verb_hook_gemini(const Arguments& arguments) {
  return answer_hook(HookHost::Gemini, arguments);
}

}  // namespace cordon
