#include "policy/publish_rule.h"

#include <algorithm>

#include "base/text.h"
#include "policy/host_rule.h"

namespace cordon {
namespace {

std::optional<std::uint16_t> parse_port(std::string_view text) {
  const auto number = parse_number(text);
  if (!number || *number == 0 || *number > kHighestPort) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

}  // namespace

Result<PublishRule> parse_publish_rule(std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto outside = parse_port(text.substr(0, colon));
  const auto inside =
      colon == std::string_view::npos ? outside : parse_port(text.substr(colon + 1));
  if (!outside || !inside) {
    return fail(policy_error(quote(text) + " is not a port to publish",
                             "write \"8080\", or \"HOSTPORT:PORT\" with ports 1 to 65535"));
  }
  return PublishRule{*outside, *inside};
}

std::string to_string(const PublishRule& rule) {
  std::string text = std::to_string(rule.host_port);
  if (rule.port != rule.host_port) text.append(":").append(std::to_string(rule.port));
  return text;
}

Verdict decide_publish(const NetRules& net, const PublishRule& rule) {
  const std::string change = "publish = [\"" + to_string(rule) + "\"] in [net]";
  if (net.mode == NetMode::Open) {
    return {true, "net.mode = \"open\"", "the command listens on the host's own network", {}};
  }
  const auto found = std::ranges::find(net.publish, rule);
  if (found != net.publish.end()) {
    return {true, "net.publish \"" + to_string(rule) + "\"", "the host's loopback leads to it", {}};
  }
  const auto same_port = [&](const PublishRule& other) {
    return other.host_port == rule.host_port;
  };
  const auto other = std::ranges::find_if(net.publish, same_port);
  if (other != net.publish.end()) {
    return {false, "net.publish \"" + to_string(*other) + "\"",
            "the port leads to another one inside", change};
  }
  return {false, "net.publish", "it does not list this port", change};
}

}  // namespace cordon
