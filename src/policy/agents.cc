#include "policy/agents.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "policy/clamp.h"
#include "policy/decide.h"
#include "policy/http_rules.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

constexpr std::array kClaudeHosts{
    AgentHost{"api.anthropic.com:443", "the model"},
    AgentHost{"console.anthropic.com:443", "renewing a login made inside"},
};
constexpr std::array<std::string_view, 2> kClaudeCredentials{"ANTHROPIC_API_KEY",
                                                             "CLAUDE_CODE_OAUTH_TOKEN"};
constexpr std::array kClaudeKeys{AgentKey{"ANTHROPIC_API_KEY", "x-api-key"},
                                 AgentKey{"CLAUDE_CODE_OAUTH_TOKEN", {}}};
constexpr LoginToken kClaudeLogin{"/claudeAiOauth/accessToken",
                                  {"CLAUDE_CODE_OAUTH_TOKEN", {}},
                                  "CLAUDE_CONFIG_DIR",
                                  "it has expired or was ended; run claude outside once, which "
                                  "renews it, and go on"};
// Without it the agent refuses to work for root, although nothing of root is inside.
constexpr std::array<std::string_view, 2> kClaudeSettings{
    "IS_SANDBOX", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"};

constexpr std::array kCodexHosts{
    AgentHost{"api.openai.com:443", "the model"},
    AgentHost{"auth.openai.com:443", "renewing a login made inside"},
};
constexpr std::array<std::string_view, 2> kCodexCredentials{"CODEX_API_KEY", "OPENAI_API_KEY"};
constexpr std::array kCodexKeys{AgentKey{"CODEX_API_KEY", {}}, AgentKey{"OPENAI_API_KEY", {}}};
// The tokens of a login by account are for another host and are read by the agent itself, which
// renews them. A key that it was logged in with is one.
constexpr LoginToken kCodexLogin{"/OPENAI_API_KEY",
                                 {"CODEX_API_KEY", {}},
                                 "CODEX_HOME",
                                 "the key in it is not accepted; log in anew outside: codex login "
                                 "--with-api-key"};

constexpr std::array kGeminiHosts{
    AgentHost{"generativelanguage.googleapis.com:443", "the model"},
};
constexpr std::array<std::string_view, 1> kGeminiCredentials{"GEMINI_API_KEY"};
constexpr std::array kGeminiKeys{AgentKey{"GEMINI_API_KEY", "x-goog-api-key"}};

constexpr std::array kCopilotHosts{
    AgentHost{"api.githubcopilot.com:443", "the model"},
    AgentHost{"api.github.com:443", "exchanging the login for a session"},
};
constexpr std::array<std::string_view, 1> kCopilotCredentials{"COPILOT_GITHUB_TOKEN"};

constexpr std::array kAgents{
    AgentNeeds{"claude", kClaudeHosts, kClaudeCredentials, kClaudeSettings,
               ".claude/.credentials.json", "api.anthropic.com", kClaudeKeys, kClaudeLogin},
    AgentNeeds{"codex",
               kCodexHosts,
               kCodexCredentials,
               {},
               ".codex/auth.json",
               "api.openai.com",
               kCodexKeys,
               kCodexLogin},
    AgentNeeds{"gemini",
               kGeminiHosts,
               kGeminiCredentials,
               {},
               {},
               "generativelanguage.googleapis.com",
               kGeminiKeys,
               {}},
    // It exchanges its token for another one, which it keeps.
    AgentNeeds{"copilot", kCopilotHosts, kCopilotCredentials, {}, {}, {}, {}, {}},
};

bool has_value(const EnvRules& env, const Caller& caller, const std::string& name) {
  if (const auto set = env.set.find(name); set != env.set.end()) return !set->second.empty();
  const auto outside = caller.environment.find(name);
  return std::ranges::find(env.pass, name) != env.pass.end() &&
         outside != caller.environment.end() && !outside->second.empty();
}

HostRule model_of(const AgentNeeds& agent) {
  const auto host = parse_http_host(agent.model);
  CORDON_ASSERT(host.has_value());
  return *host;
}

// A program that is told another address has its key for whoever is there.
bool is_led_elsewhere(const AgentNeeds& agent, const EnvRules& env, const Caller& caller) {
  const auto base = known_base_variable(agent.model);
  return base && has_value(env, caller, std::string(base->name));
}

std::string source_of(const AgentNeeds& agent) {
  return "file:~/" + std::string(agent.login) + "#" + std::string(agent.kept.pointer);
}

// What the agent's secret is made of.
struct KeySource {
  AgentKey key;
  std::string from;
};
std::optional<KeySource> source_of_key(const AgentNeeds& agent, const EnvRules& env,
                                       const Caller& caller, KeptLogin login) {
  const auto valued = [&](const AgentKey& key) {
    return has_value(env, caller, std::string(key.variable));
  };
  const auto key = std::ranges::find_if(agent.keys, valued);
  if (key != agent.keys.end()) {
    if (env.set.contains(std::string(key->variable))) return std::nullopt;
    return KeySource{*key, "env:" + std::string(key->variable)};
  }
  const bool passed = std::ranges::find(env.pass, agent.kept.key.variable) != env.pass.end();
  if (login == KeptLogin::None || !passed) return std::nullopt;
  return KeySource{agent.kept.key, source_of(agent)};
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
  withhold_credentials(agent, policy);
  for (const std::string_view name : agent.settings) policy.env.set.erase(std::string(name));
}

void withhold_credentials(const AgentNeeds& agent, Policy& policy) {
  for (const std::string_view name : agent.credentials) {
    std::erase(policy.env.pass, name);
    policy.env.set.erase(std::string(name));
  }
}

Policy with_key_outside(Policy policy, std::span<const Ceiling> ceilings, const Caller& caller,
                        KeptLogin login) {
  const AgentNeeds* agent = find_agent(policy.agent.name);
  if (agent == nullptr || agent->model.empty() || policy.agent.share_login) return policy;
  const auto source = source_of_key(*agent, policy.env, caller, login);
  if (!source) return policy;
  const AgentKey& key = source->key;
  const auto permits = [&](const Ceiling& ceiling) {
    return permits_variable(ceiling, std::string(key.variable));
  };
  if (!std::ranges::all_of(ceilings, permits)) return policy;
  const HostRule model = model_of(*agent);
  const bool reached = policy.net.mode == NetMode::Allow &&
                       decide_connect(policy.net, model.name, model.first_port, {}).allowed;
  if (!reached || is_led_elsewhere(*agent, policy.env, caller)) return policy;
  auto rule = std::ranges::find(policy.net.http, model, &HttpRule::host);
  const std::string name = std::string(agent->name) + "-key";
  // Who wrote another secret into the rule meant that one.
  if (rule != policy.net.http.end() && !rule->secret.empty() && rule->secret != name) return policy;
  if (rule == policy.net.http.end()) {
    HttpRule made;
    made.host = model;
    made.allow = {{"*", "/**"}};
    made.websocket = true;
    rule = policy.net.http.insert(policy.net.http.end(), std::move(made));
  }
  SecretRule secret;
  secret.name = name;
  secret.host = model;
  secret.kind = key.header.empty() ? SecretRule::Kind::Bearer : SecretRule::Kind::Header;
  secret.header = key.header;
  secret.from = source->from;
  secret.variable = key.variable;
  rule->secret = secret.name;
  // An operator may say where the secret of that name comes from.
  const auto defines = [&](const Policy& by) {
    return std::ranges::any_of(by.secrets, [&](const SecretRule& other) {
      return other.name == secret.name && other.host == secret.host;
    });
  };
  const bool defined =
      defines(policy) || std::ranges::any_of(ceilings, [&](const Ceiling& ceiling) {
        return defines(ceiling.policy);
      });
  if (!defined) policy.secrets.push_back(std::move(secret));
  return policy;
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
  const auto outside = std::ranges::find_if(effective.secrets, stands_outside);
  if (outside != effective.secrets.end()) {
    const bool by_login = !agent->kept.pointer.empty() && outside->from == source_of(*agent);
    return Credential{effective.agent.name, Credential::Kind::Outside,
                      by_login ? "~/" + std::string(agent->login) : outside->variable};
  }
  // Nor does one to whose host a ceiling permits requests without it.
  if (!agent->model.empty() && find_http_rule(effective.net, model_of(*agent)) != nullptr &&
      !is_led_elsewhere(*agent, effective.env, caller)) {
    return std::nullopt;
  }
  for (const std::string_view name : agent->credentials) {
    if (!has_value(effective.env, caller, std::string(name))) continue;
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

std::optional<std::string> rejected_login(const Credential& credential,
                                          std::span<const SentRequests> requests) {
  constexpr unsigned kUnauthorized = 401;
  const AgentNeeds* agent = find_agent(credential.agent);
  const bool outside = credential.kind == Credential::Kind::Outside;
  if (agent == nullptr || !outside || credential.label != "~/" + std::string(agent->login))
    return std::nullopt;
  const std::string host = to_string(model_of(*agent));
  const auto refused = [&](const SentRequests& sent) {
    return sent.status == kUnauthorized && sent.host == host;
  };
  if (std::ranges::none_of(requests, refused)) return std::nullopt;
  return std::string(agent->model) + " refused the login " + credential.label + ": " +
         std::string(agent->kept.renewal);
}

std::string_view name_of(Credential::Kind kind) {
  switch (kind) {
    case Credential::Kind::Variable:
      return "variable";
    case Credential::Kind::Login:
      return "login";
    case Credential::Kind::Outside:
      return "outside";
  }
  return "";
}

std::string describe(const Credential& credential) {
  std::string text = "credential of " + credential.agent + ": " + credential.label;
  switch (credential.kind) {
    case Credential::Kind::Outside:
      return text + ", added to its requests outside; inside is a placeholder";
    case Credential::Kind::Variable:
      return text + ", which whatever runs inside can read";
    case Credential::Kind::Login:
      text += ", which whatever runs inside can read";
      break;
  }
  if (credential.copied) {
    text +=
        "; copied from the host: a login is renewed by replacing it, so whichever of the two is"
        " renewed first may log the other out";
  }
  return text;
}

}  // namespace cordon
