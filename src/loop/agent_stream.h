// AgentStream: what an agent writes while it works, read line by line as it comes. Nothing in it is
// believed: it is shown to people and counted against budgets, and decides nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>

#include "base/line_splitter.h"
#include "config/node.h"

namespace cordon::loop {

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
using AgentEvent = std::variant<Said, UsedTool, Spent, Claimed, Unreadable>;

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

}  // namespace cordon::loop
