#include <array>

#include "config/decode.h"
#include "config/document_text.h"
#include "policy/agents.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 2> kAgentKeys{"name", "share_login"};

Result<void> decode_name(const Section& section, std::string& name) {
  CORDON_TRY(word, section.text("name"));
  if (!word) return {};
  std::vector<std::string_view> names;
  for (const AgentNeeds& agent : known_agents()) names.push_back(agent.name);
  if (find_agent(*word->text) == nullptr) {
    std::string hint = suggestion(*word->text, names);
    if (hint.empty()) {
      hint = "the agents are";
      for (const std::string_view known : names) hint.append(" ").append(known);
    }
    return fail(section.error_at(*word->node, "unknown agent " + shown(*word->text), hint));
  }
  name = *word->text;
  return {};
}

}  // namespace

Result<void> decode_agent(const Section& document, DocumentRole role, AgentRules& agent) {
  CORDON_TRY(section, document.member("agent", kAgentKeys));
  CORDON_CHECK(decode_name(section, agent.name));
  CORDON_TRY(share, section.flag("share_login"));
  if (share) {
    agent.share_login =
        *share ? std::optional(hand_over_the_agents_login()) : std::optional<SharedLogin>();
  }
  if (!agent.share_login || role == DocumentRole::Ceiling) return {};
  const Node* place = section.find("share_login");
  if (place == nullptr) place = section.find("name");
  const AgentNeeds* known = find_agent(agent.name);
  if (known == nullptr) {
    return fail(section.error_at_key(*place, "\"share_login\" in [agent] needs an agent",
                                     "write extends = \"agent:claude\", or name = \"claude\""));
  }
  if (known->login.empty()) {
    return fail(section.error_at_key(
        *place, "the agent " + shown(agent.name) + " has no login file that could be shared",
        "give it its variable: " + std::string(known->credentials.front())));
  }
  return {};
}

}  // namespace cordon
