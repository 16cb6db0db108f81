#include "host/known_hosts.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/base64.h"
#include "base/hmac_sha1.h"
#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"
#include "policy/host_rule_index.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

constexpr std::size_t kLargestKnownHosts = std::size_t{1} << 20U;
constexpr std::uint16_t kUsualSshPort = 22;
constexpr std::string_view kHashed = "|1|";

// As ssh writes it: a port other than the usual one stands behind a bracketed name.
std::string ssh_name(const std::string& host, std::uint16_t port) {
  return port == kUsualSshPort ? host : "[" + host + "]:" + std::to_string(port);
}

// The names by which ssh may have written down what a rule names alone.
std::vector<std::string> names_to_hash(const HostRule& rule) {
  if (!names_its_host(rule) && !names_one_address(rule)) return {};
  HostRule host = rule;
  host.first_port = 1;
  host.last_port = 65535;
  std::string name = to_string(host);
  if (name.starts_with('[')) name = name.substr(1, name.size() - 2);
  std::vector<std::string> names;
  if (rule.first_port <= kUsualSshPort && kUsualSshPort <= rule.last_port) names.push_back(name);
  if (has_one_port(rule) && rule.first_port != kUsualSshPort)
    names.push_back(ssh_name(name, rule.first_port));
  return names;
}

// The rule for the host of one written name: "host", "[host]:port", "*.host" of an authority.
std::optional<HostRule> rule_of(std::string_view written) {
  std::string text(written);
  const bool has_port = text.starts_with('[') && text.find("]:") != std::string::npos;
  if (has_port) {
    const std::size_t end = text.find("]:");
    const std::string host = text.substr(1, end - 1);
    const std::string port = text.substr(end + 2);
    text = (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
  } else {
    if (text.find(':') != std::string::npos) text = "[" + text + "]";
    text += ":" + std::to_string(kUsualSshPort);
  }
  auto rule = parse_host_rule(text);
  if (!rule) return std::nullopt;
  return *std::move(rule);
}

class KnownHosts {
 public:
  explicit KnownHosts(const NetRules& net) : allow_(net.allow), deny_(net.deny) {
    for (const HostRule& rule : net.allow) {
      for (std::string& name : names_to_hash(rule)) hashable_.push_back(std::move(name));
    }
  }

  // What of a line may be seen; empty: nothing.
  [[nodiscard]] std::string line(std::string_view text) const {
    std::vector<std::string_view> words;
    for (const std::string_view word : split(text, ' '))
      if (!word.empty()) words.push_back(word);
    std::string marker;
    if (!words.empty() && words.front().starts_with('@')) {
      marker = std::string(words.front()) + " ";
      words.erase(words.begin());
    }
    if (words.size() < 3 || words.front().starts_with('#')) return {};
    const std::string names = allowed(words[0]);
    if (names.empty()) return {};
    return marker + names + " " + std::string(words[1]) + " " + std::string(words[2]) + "\n";
  }

 private:
  [[nodiscard]] bool reaches(const HostRule& host) const {
    return allow_.any_covers(host) && !deny_.any_covers(host);
  }

  [[nodiscard]] std::string allowed(std::string_view field) const {
    if (field.starts_with(kHashed)) return unhashed(field.substr(kHashed.size()));
    std::string names;
    for (const std::string_view name : split(field, ',')) {
      // A negation means something only beside the patterns that it narrows.
      if (name.starts_with('!')) return {};
      const auto rule = rule_of(name);
      if (rule && reaches(*rule)) names.append(names.empty() ? "" : ",").append(name);
    }
    return names;
  }

  // "SALT|HASH": which of the names it is.
  [[nodiscard]] std::string unhashed(std::string_view field) const {
    const std::size_t bar = field.find('|');
    if (bar == std::string_view::npos) return {};
    const auto salt = from_base64(field.substr(0, bar));
    if (!salt) return {};
    for (const std::string& name : hashable_) {
      const auto mac = hmac_sha1(*salt, name);
      const std::string_view bytes(reinterpret_cast<const char*>(mac.data()), mac.size());
      if (base64(bytes) != field.substr(bar + 1)) continue;
      const auto rule = rule_of(name);
      return rule && reaches(*rule) ? name : std::string();
    }
    return {};
  }

  HostRuleIndex allow_;
  HostRuleIndex deny_;
  std::vector<std::string> hashable_;
};

}  // namespace

std::string known_hosts_of(std::string_view text, const NetRules& net) {
  const KnownHosts known(net);
  std::string kept;
  for (const std::string_view line : split(text, '\n')) kept += known.line(line);
  return kept;
}

std::string known_hosts_for(const Caller& caller, const NetRules& net) {
  std::string kept;
  for (const std::string& path :
       {join(caller.home, ".ssh/known_hosts"), std::string("/etc/ssh/ssh_known_hosts")}) {
    if (const auto text = read_followed(path, kLargestKnownHosts))
      kept += known_hosts_of(*text, net);
  }
  return kept;
}

}  // namespace cordon
