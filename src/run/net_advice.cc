#include "run/net_advice.h"

#include <algorithm>

#include "base/text.h"
#include "policy/clamp_net.h"
#include "policy/cure.h"
#include "policy/http_rules.h"
#include "policy/net_rules.h"
#include "run/change.h"

namespace cordon {
namespace {

Changed with_host(Changed changed, const HostRule& host) {
  if (changed.input.policy.options.net) {
    changed.steps.push_back("leave out --net " +
                            std::string(name_of(changed.input.policy.net.mode)));
    changed.input.policy.options.net = false;
  }
  changed.input.policy.net.allow_host(host);
  changed.input.policy.options.allow.push_back(host);
  changed.steps.push_back("--allow " + to_string(host));
  return changed;
}

Changed without_host_denies(Changed changed, const HostRule& host) {
  const auto take = [&](Policy& policy) {
    std::erase_if(policy.net.deny, [&](const HostRule& deny) {
      if (!covers(deny, host)) return false;
      changed.steps.push_back(take_out(policy, "net", to_string(deny)));
      return true;
    });
  };
  take(changed.input.policy);
  for (Ceiling& ceiling : changed.input.ceilings) take(ceiling.policy);
  return changed;
}

// What a policy lists and every ceiling permits or does not: a port to publish, a local socket.
struct Listed {
  std::string_view key;  // of [net]
  std::function<Changed(Changed)> with_option;
  // Adds it to what the ceiling permits, and answers with how a person does.
  std::function<std::string(Ceiling&)> permit;
};

// "the ceiling F does not permit it"; of those without [net] why.
std::string who_does_not_permit(const RunInput& input, const std::vector<std::size_t>& which) {
  std::string titles;
  bool without = false;
  for (const std::size_t i : which) {
    const Ceiling& ceiling = input.ceilings[i];
    titles.append(titles.empty() ? "" : " and ").append(title_of(ceiling));
    without = without || (!ceiling.policy.file.empty() && ceiling.policy.net == NetRules{});
  }
  return titles + (which.size() == 1 ? " does not" : " do not") + " permit it" +
         (without ? " (a ceiling without [net] permits nothing of the network)" : "");
}

// The smallest change with which `grants` says yes: the option, then the option and the ceilings
// that do not permit it. A ceiling that permits it already is not named.
void advise_listed(const RunInput& input, const Listed& listed, const NetTry& grants,
                   Verdict& verdict) {
  verdict.change.clear();
  const auto helps = [&](const Changed& changed) {
    const auto found = grants(changed.input);
    return found && found->allowed;
  };
  const auto with_ceilings = [&](const std::vector<std::size_t>& which) {
    Changed changed{input, {}};
    for (const std::size_t i : which) {
      changed.steps.push_back(listed.permit(changed.input.ceilings[i]));
    }
    return listed.with_option(std::move(changed));
  };
  std::vector<std::size_t> needed;
  for (std::size_t i = 0; i < input.ceilings.size(); ++i) {
    if (input.ceilings[i].bounds_net) needed.push_back(i);
  }
  if (!helps(with_ceilings(needed))) return;
  for (std::size_t i = needed.size(); i-- > 0;) {
    std::vector<std::size_t> fewer = needed;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (helps(with_ceilings(fewer))) needed = std::move(fewer);
  }
  verdict.change = steps_text(with_ceilings(needed).steps);
  if (needed.empty()) return;
  verdict.rule = ceiling_rule(input.ceilings[needed.front()], "net", {listed.key});
  verdict.reason = who_does_not_permit(input, needed) + "; " + verdict.reason;
}

}  // namespace

void advise_publish(const RunInput& input, const PublishRule& rule, const NetTry& publishes,
                    Verdict& verdict) {
  const auto with_option = [&](Changed changed) {
    changed.input.policy.net.publish.push_back(rule);
    changed.input.policy.options.publish.push_back(rule);
    changed.steps.push_back("--publish " + to_string(rule));
    return changed;
  };
  const auto permit = [&](Ceiling& ceiling) {
    std::string step = cure_for_port(ceiling, rule);
    ceiling.policy.net.publish.push_back(rule);
    return step;
  };
  advise_listed(input, {"publish", with_option, permit}, publishes, verdict);
}

void advise_request(const RunInput& input, const HostRule& endpoint, const RequestPattern& pattern,
                    const NetTry& sends, Verdict& verdict) {
  verdict.change.clear();
  // No rule can name a path that servers read in two ways.
  if (!parse_request_pattern(to_string(pattern))) return;
  const auto with_option = [&](Changed changed) {
    if (changed.input.policy.options.net) {
      changed.steps.push_back("leave out --net " +
                              std::string(name_of(changed.input.policy.net.mode)));
      changed.input.policy.options.net = false;
    }
    HttpRule option;
    option.host = endpoint;
    option.allow = {pattern};
    changed.input.policy.options.http.push_back(std::move(option));
    allow_request(changed.input.policy.net, endpoint, pattern);
    changed.steps.push_back(option_for_request(endpoint, pattern));
    return changed;
  };
  const auto permit = [&](Ceiling& ceiling) {
    std::string step = cure_for_request(ceiling, endpoint, pattern);
    allow_request(ceiling.policy.net, endpoint, pattern);
    return step;
  };
  advise_listed(input, {"allow", with_option, permit}, sends, verdict);
}

void advise_socket(const RunInput& input, const std::string& path, const NetTry& connects,
                   Verdict& verdict) {
  const auto with_option = [&](Changed changed) {
    changed.input.policy.net.sockets.push_back({path, "/", Origin::Option});
    changed.steps.push_back("--socket " + quote(path));
    return changed;
  };
  const auto permit = [&](Ceiling& ceiling) {
    std::string step = cure_for_socket(ceiling, path);
    ceiling.policy.net.sockets.push_back({path, "/", Origin::Document});
    return step;
  };
  advise_listed(input, {"sockets", with_option, permit}, connects, verdict);
}

Result<void> advise_connect(const RunInput& input, const HostRule& host, const NetTry& connects,
                            Verdict& verdict) {
  verdict.change.clear();
  const auto helps = [&](const Changed& changed) {
    if (changed.steps.empty()) return false;
    const auto found = connects(changed.input);
    if (!found || !found->allowed) return false;
    verdict.change = steps_text(changed.steps);
    return true;
  };
  const Changed opened = without_host_denies({input, {}}, host);
  for (const Changed& begin : {Changed{input, {}}, opened}) {
    if (helps(begin) || helps(with_host(begin, host))) return {};
    Changed cured = begin;
    std::string rule;
    std::vector<std::size_t> takers;
    for (std::size_t i = 0; i < cured.input.ceilings.size(); ++i) {
      Ceiling& ceiling = cured.input.ceilings[i];
      if (permits_host(ceiling, host)) continue;
      cured.steps.push_back(cure_for_host(ceiling, host));
      if (rule.empty()) rule = ceiling_rule(ceiling, "net", {"allow", "mode"});
      takers.push_back(i);
      ceiling.policy.net.allow_host(host);
    }
    if (rule.empty() || (!helps(cured) && !helps(with_host(cured, host)))) continue;
    verdict.rule = rule;
    verdict.reason = who_does_not_permit(begin.input, takers) + "; " + verdict.reason;
    return {};
  }
  return {};
}

}  // namespace cordon
