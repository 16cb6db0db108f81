// Agents: how each one is started so that it works alone and writes a stream that can be read. The
// flags that switch off an agent's own questions stand here and nowhere else: contained_agent() is
// the only way to them, and what it makes is only ever run contained.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "config/node.h"
#include "cordon/policy.h"

namespace cordon::loop {

// AgentStream: what an agent writes while it works, read line by line as it comes. Nothing in it is
// believed: it is shown to people and counted against budgets, and decides nothing.

// How an agent writes its stream.
enum class StreamForm {
  Text,     // lines for people
  Claude,   // Claude Code: --output-format stream-json
  Codex,    // Codex CLI: exec --json
  Gemini,   // Gemini CLI: --output-format stream-json
  Copilot,  // Copilot CLI: --output-format json
};

struct Said {
  std::string text;
  bool operator==(const Said&) const = default;
};
struct UsedTool {
  std::string tool;
  std::string detail;  // its command, path or pattern, if it has one
  bool operator==(const UsedTool&) const = default;
};
// What a tool answered it, as it tells.
struct ToolAnswered {
  bool failed = false;
  std::string text;  // the beginning
  bool operator==(const ToolAnswered&) const = default;
};
// Since the agent was started, as far as it tells.
struct Spent {
  std::uint64_t tokens = 0;
  std::uint64_t micro_dollars = 0;
  bool operator==(const Spent&) const = default;
};
// The agent's own word about its success.
struct Claimed {
  bool success = false;
  std::string text;
  bool operator==(const Claimed&) const = default;
};
// A line that is not what the form promises; the stream goes on.
struct Unreadable {
  std::string excerpt;
  bool operator==(const Unreadable&) const = default;
};
using AgentEvent = std::variant<Said, UsedTool, ToolAnswered, Spent, Claimed, Unreadable>;

class AgentStream {
 public:
  using Take = std::function<void(AgentEvent)>;
  AgentStream(StreamForm form, Take take);

  void add(std::string_view bytes);
  void finish();

 private:
  void line(const Line& complete);
  void claude(const Node& message);
  void codex(const Node& message);
  void gemini(const Node& message);
  void copilot(const Node& message);
  void spend(std::uint64_t tokens, std::uint64_t micro_dollars);

  const StreamForm form_;
  const Take take_;
  LineSplitter splitter_;
  Spent spent_;
};

// Whether an agent is signed in, which some say without speaking to their model.
struct LoginQuestion {
  std::vector<std::string> argv;
  // A no means that no attempt can succeed: it knows every way in which it can be given a login.
  bool decides = false;
};
// False for whatever else it may have written.
bool says_signed_out(StreamForm form, const std::string& answer);

struct AgentCommand {
  std::string name;               // "claude", or the program of a command of one's own
  std::vector<std::string> argv;  // the prompt is not in it: it comes on standard input
  StreamForm form = StreamForm::Text;
  std::string preset;  // the policy it starts from
  std::optional<LoginQuestion> login;
};

// A known agent by its name, or any command: then standard output is lines for people.
Result<AgentCommand> contained_agent(const std::vector<std::string>& words);

}  // namespace cordon::loop
