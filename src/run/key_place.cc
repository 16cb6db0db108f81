#include "run/key_place.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/path.h"
#include "base/text.h"
#include "host/caller.h"
#include "host/inspect.h"
#include "host/resolve.h"
#include "policy/clamp.h"
#include "policy/clamp_net.h"
#include "policy/cure.h"
#include "policy/http_rules.h"
#include "run/policy_source.h"

namespace cordon {
namespace {

struct KeyAdvice {
  std::string_view agent;
  std::string_view line;
};
constexpr std::array kAdvice{
    KeyAdvice{"claude",
              "log in with claude outside, or export CLAUDE_CODE_OAUTH_TOKEN=TOKEN with what "
              "claude setup-token prints, or export ANTHROPIC_API_KEY=KEY"},
    KeyAdvice{"codex",
              "log in outside with codex login --with-api-key, or export CODEX_API_KEY=KEY"},
    KeyAdvice{"gemini", "export GEMINI_API_KEY=KEY"},
    KeyAdvice{"copilot",
              "export COPILOT_GITHUB_TOKEN=TOKEN with a fine-grained token whose one permission is "
              "Copilot Requests"},
};

std::string advice_for(const AgentNeeds& agent) {
  const auto* found = std::ranges::find(kAdvice, agent.name, &KeyAdvice::agent);
  return found == kAdvice.end() ? std::string() : std::string(found->line);
}

// Where an agent keeps a login by account of which no copy is known to suffice.
constexpr std::string_view kGeminiAccount = ".gemini/oauth_creds.json";

// The file of a login outside, relative to the home; empty: none is there.
std::string login_outside(const AgentNeeds& agent, const Caller& caller) {
  const std::string file(agent.name == "gemini" ? kGeminiAccount : agent.login);
  if (file.empty() || caller.home.empty()) return {};
  return inspect_path(join(caller.home, file)) ? file : std::string();
}

std::string advice_to_share(const AgentNeeds& agent) {
  if (agent.login.empty()) return {};
  return ", or have a copy of it inside: share_login = true in [agent] of a policy that extends "
         "agent:" +
         std::string(agent.name);
}

// What a run for the agent has of the network, of variables and of secrets. Files are left out:
// the answer is the same in every directory.
Result<Effective> effective_for(const AgentNeeds& agent, std::span<const Ceiling> ceilings,
                                const Caller& caller) {
  CORDON_TRY(policy, Policy::preset("agent:" + std::string(agent.name)));
  policy.fs = {};
  const KeptLogin login = kept_login(agent, caller);
  CORDON_TRY(resolved,
             resolve(with_key_outside(std::move(policy), ceilings, caller, login), caller));
  std::vector<ResolvedCeiling> bounds;
  for (Ceiling ceiling : ceilings) {
    ceiling.policy.fs = {};
    CORDON_TRY(bound, resolve(ceiling, caller));
    bounds.push_back(std::move(bound));
  }
  CORDON_TRY(clamped, clamp(resolved, bounds));
  return clamped.effective();
}

std::string variable_that_is_set(const AgentNeeds& agent, const Caller& caller) {
  for (const std::string_view name : agent.credentials) {
    const auto found = caller.environment.find(std::string(name));
    if (found != caller.environment.end() && !found->second.empty()) return found->first;
  }
  return {};
}

KeyPlace inside(const AgentNeeds& agent, const std::string& variable,
                std::span<const Ceiling> ceilings) {
  KeyPlace place{KeyPlace::Where::Inside,
                 variable + " goes inside, where every command that the agent starts can read it",
                 {}};
  if (agent.model.empty()) {
    place.what += ": it exchanges this token for others by itself";
    place.change = "let it be a token that can do nothing else: " + advice_for(agent);
    return place;
  }
  const auto model = parse_http_host(agent.model);
  place.what += ": its requests to " + std::string(agent.model) + " are not judged here";
  for (const Ceiling& ceiling : ceilings) {
    if (!model || permits_host(ceiling, *model)) continue;
    place.change = cure_for_host(ceiling, *model);
    return place;
  }
  place.change = "unset " + variable + ", and log in inside";
  return place;
}

KeyPlace nowhere(const AgentNeeds& agent, const Effective& effective,
                 std::span<const Ceiling> ceilings, const Caller& caller) {
  const std::string variable = variable_that_is_set(agent, caller);
  for (const Ceiling& ceiling : ceilings) {
    if (variable.empty() || permits_variable(ceiling, variable)) continue;
    return {KeyPlace::Where::None, title_of(ceiling) + " keeps " + variable + " from it",
            cure_for_variable(ceiling, variable)};
  }
  const auto model = parse_http_host(agent.model);
  if (!variable.empty() && model && find_http_rule(effective.net, *model) != nullptr) {
    return {KeyPlace::Where::None,
            "a ceiling permits requests to " + std::string(agent.model) + " without its key",
            "in the [[http]] of that host in the ceiling: secret = \"" + std::string(agent.name) +
                "-key\""};
  }
  const std::string login = login_outside(agent, caller);
  std::string what = "no variable holds a key";
  if (!login.empty()) {
    const bool usable = kept_login(agent, caller) == KeptLogin::Usable;
    what = "its login ~/" + login +
           (usable ? " stays outside, and " : " cannot be added outside, and ") + what;
  }
  return {KeyPlace::Where::None,
          what +
              ": it has to be logged in inside, where every command that it starts can read that "
              "login",
          "to have a key that " +
              std::string(agent.model.empty() ? "can do nothing else: " : "stays outside: ") +
              advice_for(agent) + (login.empty() ? "" : advice_to_share(agent))};
}

}  // namespace

std::string_view name_of(KeyPlace::Where where) {
  switch (where) {
    case KeyPlace::Where::Outside:
      return "outside";
    case KeyPlace::Where::None:
      return "none";
    case KeyPlace::Where::Inside:
      return "inside";
  }
  return "";
}

Result<KeyPlace> key_place(const AgentNeeds& agent, std::span<const Ceiling> ceilings,
                           const Caller& caller) {
  CORDON_TRY(effective, effective_for(agent, ceilings, caller));
  const std::optional<Credential> credential = credential_of(effective, caller);
  if (!credential) return nowhere(agent, effective, ceilings, caller);
  if (credential->kind == Credential::Kind::Outside) {
    return KeyPlace{
        KeyPlace::Where::Outside,
        credential->label + " is added to its requests outside; inside is a placeholder" +
            (credential->label.starts_with("~/") ? "; to renew it takes the agent outside" : ""),
        {}};
  }
  return inside(agent, credential->label, ceilings);
}

std::string unused_login(const Effective& effective, const Caller& caller,
                         const std::string& private_home) {
  const AgentNeeds* agent = find_agent(effective.agent.name);
  if (agent == nullptr || credential_of(effective, caller) ||
      kept_login(*agent, caller) == KeptLogin::Usable)
    return {};
  const std::string login = login_outside(*agent, caller);
  if (login.empty() || (!private_home.empty() && inspect_path(join(private_home, login))))
    return {};
  return std::string(agent->name) + " has no credential inside: its login ~/" + login +
         " cannot be added to its requests outside; " + advice_for(*agent) +
         advice_to_share(*agent);
}

std::vector<LoginShared> shared_logins(const Caller& caller) {
  constexpr std::string_view kSuffix = ".toml";
  const std::string policies = join(caller.config_directory, "policies");
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(policies.c_str()), ::closedir);
  std::vector<LoginShared> shared;
  while (const dirent* entry = directory ? ::readdir(directory.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (!name.ends_with(kSuffix)) continue;
    const std::string path = join(policies, name);
    const auto policy = load_policy(path, caller);
    if (!policy || !policy->agent.share_login) continue;
    const AgentNeeds* agent = find_agent(policy->agent.name);
    if (agent == nullptr) continue;
    shared.push_back({path,
                      quote(path) + " copies the login ~/" + std::string(agent->login) +
                          " inside, where every command that " + std::string(agent->name) +
                          " starts can read it and send it to every host that is allowed",
                      "take share_login out of it, and " + advice_for(*agent)});
  }
  std::ranges::sort(shared, {}, &LoginShared::policy);
  return shared;
}

}  // namespace cordon
