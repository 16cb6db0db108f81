#include "policy/agents.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "policy/net_rules.h"

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
    AgentNeeds{"claude", kClaudeHosts, kClaudeCredentials, kClaudeSettings,
               ".claude/.credentials.json"},
    AgentNeeds{"codex", kCodexHosts, kCodexCredentials, {}, ".codex/auth.json"},
    AgentNeeds{"gemini", kGeminiHosts, kGeminiCredentials, {}, {}},
    AgentNeeds{"copilot", kCopilotHosts, kCopilotCredentials, {}, {}},
};

bool has_value(const Effective& effective, const Caller& caller, const std::string& name) {
  if (const auto set = effective.env.set.find(name); set != effective.env.set.end()) {
    return !set->second.empty();
  }
  const auto outside = caller.environment.find(name);
  return std::ranges::find(effective.env.pass, name) != effective.env.pass.end() &&
         outside != caller.environment.end() && !outside->second.empty();
}

}  // namespace

std::span<const AgentNeeds> known_agents() { return kAgents; }

const AgentNeeds* find_agent(std::string_view name) {
  const auto* found = std::ranges::find(kAgents, name, &AgentNeeds::name);
  return found == kAgents.end() ? nullptr : found;
}

void add_needs(const AgentNeeds& agent, Policy& policy) {
  policy.agent.name = agent.name;
  for (const AgentHost& host : agent.hosts) {
    const auto rule = parse_host_rule(host.rule);
    CORDON_ASSERT(rule.has_value());
    policy.net.allow.push_back(*rule);
  }
  for (const std::string_view name : agent.credentials) policy.env.pass.emplace_back(name);
  for (const std::string_view name : agent.settings) policy.env.set.emplace(name, "1");
}

void remove_needs(const AgentNeeds& agent, Policy& policy) {
  policy.agent = {};
  for (const std::string_view name : agent.credentials) {
    std::erase(policy.env.pass, name);
    policy.env.set.erase(std::string(name));
  }
  for (const std::string_view name : agent.settings) policy.env.set.erase(std::string(name));
}

std::optional<Credential> credential_of(const Effective& effective, const Caller& caller) {
  const AgentNeeds* agent = find_agent(effective.agent.name);
  if (agent == nullptr) return std::nullopt;
  if (effective.agent.share_login) {
    return Credential{effective.agent.name, Credential::Kind::Login,
                      "~/" + std::string(agent->login)};
  }
  // One whose secret is added outside stands for all of them: none goes inside.
  const auto stands_outside = [&](const SecretRule& secret) {
    return std::ranges::find(agent->credentials, secret.variable) != agent->credentials.end();
  };
  if (std::ranges::any_of(effective.secrets, stands_outside)) return std::nullopt;
  for (const std::string_view name : agent->credentials) {
    if (!has_value(effective, caller, std::string(name))) continue;
    return Credential{effective.agent.name, Credential::Kind::Variable, std::string(name)};
  }
  return std::nullopt;
}

bool is_withheld(std::string_view variable, const AgentRules& agent,
                 const std::optional<Credential>& given) {
  const AgentNeeds* known = find_agent(agent.name);
  if (known == nullptr) return false;
  const bool credential =
      std::ranges::find(known->credentials, variable) != known->credentials.end();
  return credential && (!given || given->label != variable);
}

std::string describe(const Credential& credential) {
  std::string text = "credential of " + credential.agent + ": " + credential.label;
  if (credential.copied) {
    text +=
        ", copied from the host; a login is renewed by replacing it, so whichever of the two is"
        " renewed first may log the other out";
  }
  return text;
}

}  // namespace cordon
