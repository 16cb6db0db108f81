#include "faces/loop/agent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/path.h"
#include "policy/agents.h"

namespace cordon::loop {
namespace {

constexpr std::size_t kLongestLine = std::size_t{4} << 20U;
constexpr std::size_t kExcerpt = 200;
constexpr MessageBounds kBounds{kLongestLine, 100'000};
constexpr std::uint64_t kMost = std::uint64_t{1} << 53U;  // what a double still counts exactly

const Node* at(const Node& node, std::initializer_list<std::string_view> path) {
  const Node* found = &node;
  for (const std::string_view key : path) {
    found = found->find(key);
    if (found == nullptr) return nullptr;
  }
  return found;
}

std::string text_at(const Node& node, std::initializer_list<std::string_view> path) {
  const Node* found = at(node, path);
  const std::string* text = found == nullptr ? nullptr : found->text();
  return text == nullptr ? std::string() : *text;
}

// A count that an agent tells; nothing it writes makes it negative or endless.
std::uint64_t count_at(const Node& node, std::initializer_list<std::string_view> path,
                       double unit = 1) {
  const Node* found = at(node, path);
  if (found == nullptr) return 0;
  double value = 0;
  if (const auto* whole = std::get_if<std::int64_t>(&found->value)) {
    value = static_cast<double>(*whole) * unit;
  } else if (const auto* real = std::get_if<double>(&found->value)) {
    value = *real * unit;
  }
  if (!(value > 0)) return 0;
  return value >= static_cast<double>(kMost) ? kMost : static_cast<std::uint64_t>(value);
}

std::string detail_of(const Node* input) {
  if (input == nullptr) return {};
  constexpr std::array<std::string_view, 6> kTelling{"command", "file_path", "path",
                                                     "pattern", "query",     "url"};
  for (const std::string_view key : kTelling) {
    const Node* found = input->find(key);
    if (found != nullptr && found->text() != nullptr) return *found->text();
  }
  return {};
}

bool flag_at(const Node& node, std::initializer_list<std::string_view> path) {
  const Node* found = at(node, path);
  const bool* flag = found == nullptr ? nullptr : std::get_if<bool>(&found->value);
  return flag != nullptr && *flag;
}

// A text, or the texts of a list of parts.
std::string text_of(const Node* content) {
  if (content == nullptr) return {};
  if (content->text() != nullptr) return *content->text();
  std::string text;
  if (const NodeList* parts = content->list()) {
    for (const Node& part : *parts) text += text_at(part, {"text"});
  }
  return text;
}

ToolAnswered answered(bool failed, const std::string& text) {
  constexpr std::size_t kBeginning = 2000;
  return {failed, text.substr(0, kBeginning)};
}

}  // namespace

AgentStream::AgentStream(StreamForm form, Take take)
    : form_(form), take_(std::move(take)), splitter_(kLongestLine) {}

void AgentStream::add(std::string_view bytes) {
  splitter_.add(bytes, [this](const Line& complete) { line(complete); });
}

void AgentStream::finish() {
  splitter_.finish([this](const Line& complete) { line(complete); });
}

void AgentStream::line(const Line& complete) {
  if (complete.kind == Line::Kind::TooLong) return take_(Unreadable{"a line past every bound"});
  if (form_ == StreamForm::Text) return take_(Said{complete.text});
  const auto message = read_json_message(complete.text, kBounds);
  if (!message || message->map() == nullptr) {
    return take_(Unreadable{complete.text.substr(0, kExcerpt)});
  }
  switch (form_) {
    case StreamForm::Text:
      return;
    case StreamForm::Claude:
      return claude(*message);
    case StreamForm::Codex:
      return codex(*message);
    case StreamForm::Gemini:
      return gemini(*message);
    case StreamForm::Copilot:
      return copilot(*message);
  }
}

void AgentStream::spend(std::uint64_t tokens, std::uint64_t micro_dollars) {
  if (tokens == 0 && micro_dollars == 0) return;
  spent_.tokens = std::min(kMost, spent_.tokens + tokens);
  spent_.micro_dollars = std::min(kMost, spent_.micro_dollars + micro_dollars);
  take_(spent_);
}

void AgentStream::claude(const Node& message) {
  const std::string type = text_at(message, {"type"});
  if (type == "assistant" || type == "user") {
    const Node* content = at(message, {"message", "content"});
    const NodeList* parts = content == nullptr ? nullptr : content->list();
    if (parts == nullptr) return;
    for (const Node& part : *parts) {
      const std::string kind = text_at(part, {"type"});
      if (kind == "tool_result") {
        take_(answered(flag_at(part, {"is_error"}), text_of(part.find("content"))));
      }
      if (type != "assistant") continue;
      if (kind == "text") take_(Said{text_at(part, {"text"})});
      if (kind == "tool_use")
        take_(UsedTool{text_at(part, {"name"}), detail_of(part.find("input"))});
    }
  } else if (type == "result") {
    spend(count_at(message, {"usage", "input_tokens"}) +
              count_at(message, {"usage", "cache_creation_input_tokens"}) +
              count_at(message, {"usage", "cache_read_input_tokens"}) +
              count_at(message, {"usage", "output_tokens"}),
          count_at(message, {"total_cost_usd"}, 1e6));
    const Node* failed = message.find("is_error");
    const bool tells = failed != nullptr && std::holds_alternative<bool>(failed->value);
    take_(Claimed{tells && !flag_at(message, {"is_error"}), text_at(message, {"result"})});
  }
}

void AgentStream::codex(const Node& message) {
  const std::string type = text_at(message, {"type"});
  if (type == "item.completed" && text_at(message, {"item", "type"}) == "agent_message") {
    take_(Said{text_at(message, {"item", "text"})});
  } else if (type == "item.completed" && text_at(message, {"item", "type"}) != "reasoning") {
    const bool failed = text_at(message, {"item", "status"}) == "failed" ||
                        count_at(message, {"item", "exit_code"}) != 0;
    take_(answered(failed, text_at(message, {"item", "aggregated_output"})));
  } else if (type == "item.started") {
    const std::string kind = text_at(message, {"item", "type"});
    if (kind != "agent_message" && kind != "reasoning") {
      take_(UsedTool{kind, detail_of(message.find("item"))});
    }
  } else if (type == "turn.completed") {
    spend(count_at(message, {"usage", "input_tokens"}) +
              count_at(message, {"usage", "output_tokens"}),
          0);
    take_(Claimed{true, {}});
  } else if (type == "turn.failed" || type == "error") {
    const std::string inner = text_at(message, {"error", "message"});
    take_(Claimed{false, inner.empty() ? text_at(message, {"message"}) : inner});
  }
}

void AgentStream::gemini(const Node& message) {
  const std::string type = text_at(message, {"type"});
  if (type == "message" && text_at(message, {"role"}) == "assistant") {
    take_(Said{text_at(message, {"content"})});
  } else if (type == "tool_use") {
    take_(UsedTool{text_at(message, {"tool_name"}), detail_of(message.find("parameters"))});
  } else if (type == "tool_result") {
    take_(answered(text_at(message, {"status"}) != "success", text_at(message, {"output"})));
  } else if (type == "result") {
    spend(count_at(message, {"stats", "total_tokens"}), 0);
    take_(Claimed{text_at(message, {"status"}) == "success", {}});
  }
}

// It tells no tokens, and counts requests of its subscription instead.
void AgentStream::copilot(const Node& message) {
  const std::string type = text_at(message, {"type"});
  if (type == "assistant.message") {
    std::string text = text_at(message, {"data", "content"});
    if (!text.empty()) take_(Said{std::move(text)});
  } else if (type == "tool.execution_start") {
    take_(UsedTool{text_at(message, {"data", "toolName"}),
                   detail_of(at(message, {"data", "arguments"}))});
  } else if (type == "tool.execution_complete") {
    if (flag_at(message, {"data", "success"})) {
      take_(answered(false, text_at(message, {"data", "result", "content"})));
    } else {
      take_(answered(true, text_at(message, {"data", "error", "message"})));
    }
  } else if (type == "result") {
    const Node* status = message.find("exitCode");
    const auto* code = status == nullptr ? nullptr : std::get_if<std::int64_t>(&status->value);
    take_(Claimed{code != nullptr && *code == 0, {}});
  }
}

namespace {

struct Adapter {
  std::string_view name;
  std::span<const std::string_view> words;  // after the program; the prompt comes on stdin
  StreamForm form;
  std::span<const std::string_view> login;  // the words that ask whether it is signed in
};

constexpr std::array<std::string_view, 5> kClaude{"--print", "--verbose", "--output-format",
                                                  "stream-json", "--dangerously-skip-permissions"};
constexpr std::array<std::string_view, 5> kCodex{"exec", "--json", "--skip-git-repo-check",
                                                 "--dangerously-bypass-approvals-and-sandbox", "-"};
// In a folder that nobody told it to trust, Gemini CLI takes back --yolo and waits for answers.
constexpr std::array<std::string_view, 4> kGemini{"--output-format", "stream-json", "--yolo",
                                                  "--skip-trust"};
constexpr std::array<std::string_view, 5> kCopilot{"--output-format", "json", "--allow-all-tools",
                                                   "--allow-all-paths", "--no-auto-update"};

constexpr std::array<std::string_view, 2> kClaudeLogin{"auth", "status"};
constexpr std::array<std::string_view, 2> kCodexLogin{"login", "status"};

constexpr std::array kAdapters{
    Adapter{"claude", kClaude, StreamForm::Claude, kClaudeLogin},
    Adapter{"codex", kCodex, StreamForm::Codex, kCodexLogin},
    Adapter{"gemini", kGemini, StreamForm::Gemini, {}},
    Adapter{"copilot", kCopilot, StreamForm::Copilot, {}},
};

// Claude Code knows keys, logins, helpers and providers; a person's own words may add one of them.
// Codex does not know of a provider that needs no login.
std::optional<LoginQuestion> login_question(const Adapter& adapter,
                                            const std::vector<std::string>& words) {
  if (adapter.login.empty()) return std::nullopt;
  LoginQuestion question{{words.front()}, adapter.form == StreamForm::Claude && words.size() == 1};
  question.argv.insert(question.argv.end(), adapter.login.begin(), adapter.login.end());
  return question;
}

}  // namespace

bool says_signed_out(StreamForm form, const std::string& answer) {
  switch (form) {
    case StreamForm::Claude: {
      const std::size_t begin = answer.find('{');
      if (begin == std::string::npos) return false;
      const std::size_t length = answer.rfind('}') + 1 - begin;
      const auto status = read_json_message(answer.substr(begin, length), kBounds);
      const Node* signed_in = status ? status->find("loggedIn") : nullptr;
      const bool* is = signed_in == nullptr ? nullptr : std::get_if<bool>(&signed_in->value);
      return is != nullptr && !*is;
    }
    case StreamForm::Codex:
      // The other one of a file that is no login.
      return std::ranges::any_of(split(answer, '\n'), [](std::string_view line) {
        return line == "Not logged in" || line.starts_with("Error checking login status");
      });
    case StreamForm::Text:
    case StreamForm::Gemini:
    case StreamForm::Copilot:
      return false;
  }
  return false;
}

Result<AgentCommand> contained_agent(const std::vector<std::string>& words) {
  if (words.empty() || words.front().empty()) {
    return fail(usage_error("no agent is named",
                            "cordon loop claude, or a command of your own; cordon loop --example > "
                            "PLAN.md writes a plan to start from"));
  }
  const auto* known = std::ranges::find(kAdapters, std::string_view(words.front()), &Adapter::name);
  if (known == kAdapters.end()) {
    return AgentCommand{std::string(basename(words.front())), words, StreamForm::Text, "agent", {}};
  }
  AgentCommand command{std::string(known->name),
                       {words.front()},
                       known->form,
                       "agent:" + std::string(known->name),
                       login_question(*known, words)};
  command.argv.insert(command.argv.end(), known->words.begin(), known->words.end());
  // What the person adds, such as a model, stands last but before a final "-".
  const auto place = command.argv.back() == "-" ? command.argv.end() - 1 : command.argv.end();
  command.argv.insert(place, words.begin() + 1, words.end());
  return command;
}

}  // namespace cordon::loop
