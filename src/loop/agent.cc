#include "loop/agent.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/path.h"
#include "policy/agents.h"

namespace cordon::loop {
namespace {

struct Adapter {
  std::string_view name;
  std::span<const std::string_view> words;  // after the program; the prompt comes on stdin
  StreamForm form;
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

constexpr std::array kAdapters{
    Adapter{"claude", kClaude, StreamForm::Claude},
    Adapter{"codex", kCodex, StreamForm::Codex},
    Adapter{"gemini", kGemini, StreamForm::Gemini},
    Adapter{"copilot", kCopilot, StreamForm::Copilot},
};

}  // namespace

Result<AgentCommand> contained_agent(const std::vector<std::string>& words) {
  if (words.empty() || words.front().empty()) {
    return fail(usage_error("no agent is named", "cordon loop claude, or a command of your own"));
  }
  const auto* known = std::ranges::find(kAdapters, std::string_view(words.front()), &Adapter::name);
  if (known == kAdapters.end()) {
    return AgentCommand{std::string(basename(words.front())), words, StreamForm::Text, "agent"};
  }
  AgentCommand command{
      std::string(known->name), {words.front()}, known->form, "agent:" + std::string(known->name)};
  command.argv.insert(command.argv.end(), known->words.begin(), known->words.end());
  // What the person adds, such as a model, stands last but before a final "-".
  const auto place = command.argv.back() == "-" ? command.argv.end() - 1 : command.argv.end();
  command.argv.insert(place, words.begin() + 1, words.end());
  return command;
}

}  // namespace cordon::loop
