#include "policy/agents.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "policy/host_rule.h"

namespace cordon {
namespace {

constexpr std::array kClaudeHosts{
    AgentHost{"api.anthropic.com:443", "the model"},
    AgentHost{"console.anthropic.com:443", "renewing a login made inside"},
};
constexpr std::array<std::string_view, 2> kClaudeCredentials{"ANTHROPIC_API_KEY",
                                                             "CLAUDE_CODE_OAUTH_TOKEN"};
// Without it the agent refuses to work for root, although nothing of root is inside.
constexpr std::array<std::string_view, 2> kClaudeSettings{
    "IS_SANDBOX", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"};

constexpr std::array kCodexHosts{
    AgentHost{"api.openai.com:443", "the model"},
    AgentHost{"auth.openai.com:443", "renewing a login made inside"},
};
constexpr std::array<std::string_view, 2> kCodexCredentials{"CODEX_API_KEY", "OPENAI_API_KEY"};

constexpr std::array kGeminiHosts{
    AgentHost{"generativelanguage.googleapis.com:443", "the model"},
};
constexpr std::array<std::string_view, 1> kGeminiCredentials{"GEMINI_API_KEY"};

constexpr std::array kCopilotHosts{
    AgentHost{"api.githubcopilot.com:443", "the model"},
    AgentHost{"api.github.com:443", "exchanging the login for a session"},
};
constexpr std::array<std::string_view, 1> kCopilotCredentials{"COPILOT_GITHUB_TOKEN"};

constexpr std::array kAgents{
    AgentNeeds{"claude", kClaudeHosts, kClaudeCredentials, kClaudeSettings},
    AgentNeeds{"codex", kCodexHosts, kCodexCredentials, {}},
    AgentNeeds{"gemini", kGeminiHosts, kGeminiCredentials, {}},
    AgentNeeds{"copilot", kCopilotHosts, kCopilotCredentials, {}},
};

}  // namespace

std::span<const AgentNeeds> known_agents() { return kAgents; }

const AgentNeeds* find_agent(std::string_view name) {
  const auto* found = std::ranges::find(kAgents, name, &AgentNeeds::name);
  return found == kAgents.end() ? nullptr : found;
}

void add_needs(const AgentNeeds& agent, Policy& policy) {
  for (const AgentHost& host : agent.hosts) {
    const auto rule = parse_host_rule(host.rule);
    CORDON_ASSERT(rule.has_value());
    policy.net.allow.push_back(*rule);
  }
  for (const std::string_view name : agent.credentials) policy.env.pass.emplace_back(name);
  for (const std::string_view name : agent.settings) policy.env.set.emplace(name, "1");
}

}  // namespace cordon
