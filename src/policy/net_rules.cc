#include "policy/net_rules.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"

namespace cordon {
namespace {

using Kind = HostRule::Kind;

constexpr unsigned kBits4 = 32;
constexpr unsigned kBits6 = 128;

tl::unexpected<Error> refuse_rule(std::string_view text, std::string_view why, std::string hint) {
  std::string what = "host rule ";
  what.append(quote(text)).append(" ").append(why);
  return fail(policy_error(std::move(what), std::move(hint)));
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_label(std::string_view label) {
  constexpr std::size_t kLongestLabel = 63;
  if (label.empty() || label.size() > kLongestLabel) return false;
  if (label.front() == '-' || label.back() == '-') return false;
  return std::all_of(label.begin(), label.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
  });
}

// `name` is lower case. Control bytes fail here, before any suffix is compared: otherwise
// "evil.example\0.good.example" would pass as a sub-domain and be resolved as the part before it.
bool is_name(std::string_view name) {
  constexpr std::size_t kLongestName = 253;
  if (name.empty() || name.size() > kLongestName) return false;
  const auto labels = split(name, '.');
  return std::all_of(labels.begin(), labels.end(), is_label);
}

// A last label of digits, or one that starts like a hexadecimal number, is what resolvers take for
// an IPv4 address in one of its old spellings.
bool resembles_ipv4(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('.') + 1);
  return last.starts_with("0x") ||
         (!last.empty() && std::all_of(last.begin(), last.end(), is_digit));
}

// Digits without a leading zero, so that nothing can be read as octal.
std::optional<unsigned> plain_number(std::string_view text, unsigned highest) {
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  const auto value = parse_number(text);
  if (!value || *value > highest) return std::nullopt;
  return static_cast<unsigned>(*value);
}

std::optional<std::array<std::uint8_t, 16>> parse_ipv4(std::string_view text) {
  std::array<std::uint8_t, 16> address{};
  const auto parts = split(text, '.');
  if (parts.size() != 4) return std::nullopt;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto octet = plain_number(parts[i], 255);
    if (!octet) return std::nullopt;
    address[i] = static_cast<std::uint8_t>(*octet);
  }
  return address;
}

std::optional<std::array<std::uint8_t, 16>> parse_ipv6(std::string_view text) {
  std::array<std::uint8_t, 16> address{};
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  const std::string terminated(text);
  if (::inet_pton(AF_INET6, terminated.c_str(), address.data()) != 1) return std::nullopt;
  return address;
}

bool same_bits(const std::array<std::uint8_t, 16>& a, const std::array<std::uint8_t, 16>& b,
               unsigned bits) {
  for (unsigned i = 0; i < bits; ++i) {
    const unsigned mask = 0x80U >> (i % 8);
    if ((a[i / 8] & mask) != (b[i / 8] & mask)) return false;
  }
  return true;
}

bool host_bits_are_zero(const std::array<std::uint8_t, 16>& address, unsigned prefix) {
  for (unsigned i = prefix; i < kBits6; ++i) {
    if ((address[i / 8] & (0x80U >> (i % 8))) != 0) return false;
  }
  return true;
}

constexpr std::array<std::uint8_t, 16> kMappedPrefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
constexpr unsigned kMappedBits = 96;

// Forms in which the network itself unpacks an IPv4 address. A rule in such a form would admit an
// IPv4 target that no IPv4 rule was compared with.
bool embeds_ipv4(const HostRule& rule) {
  constexpr std::array<std::uint8_t, 16> kNat64Prefix{0x00, 0x64, 0xFF, 0x9B};
  constexpr std::array<std::uint8_t, 16> k6to4Prefix{0x20, 0x02};
  constexpr std::array<std::uint8_t, 16> kTeredoPrefix{0x20, 0x01};
  return (rule.prefix >= 96 && same_bits(rule.address, kNat64Prefix, 96)) ||
         (rule.prefix >= 16 && same_bits(rule.address, k6to4Prefix, 16)) ||
         (rule.prefix >= 32 && same_bits(rule.address, kTeredoPrefix, 32));
}

struct Ports {
  std::uint16_t first = kLowestPort;
  std::uint16_t last = kHighestPort;
};

std::optional<Ports> parse_ports(std::string_view text) {
  const auto bounds = split(text, '-');
  if (bounds.size() > 2) return std::nullopt;
  const auto first = plain_number(bounds.front(), kHighestPort);
  const auto last = plain_number(bounds.back(), kHighestPort);
  if (!first || !last || *first < kLowestPort || *last < *first) return std::nullopt;
  return Ports{static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
}

// A rule text taken apart: "host", "host/prefix", each with ":ports" behind it.
struct Pieces {
  std::string_view host;
  std::optional<std::string_view> prefix;
  std::optional<std::string_view> ports;
  bool bracketed = false;
};

std::optional<Pieces> take_apart(std::string_view text) {
  Pieces pieces;
  std::string_view rest = text;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    pieces.bracketed = true;
    pieces.host = text.substr(1, close - 1);
    rest = text.substr(close + 1);
    if (!rest.empty() && rest.front() != ':' && rest.front() != '/') return std::nullopt;
  }
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    pieces.ports = rest.substr(colon + 1);
    rest = rest.substr(0, colon);
  }
  if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
    pieces.prefix = rest.substr(slash + 1);
    rest = rest.substr(0, slash);
  }
  if (!pieces.bracketed) pieces.host = rest;
  return pieces;
}

Result<HostRule> finish_address(std::string_view text, HostRule rule, const Pieces& pieces) {
  const unsigned bits = rule.kind == Kind::Address4 ? kBits4 : kBits6;
  rule.prefix = bits;
  if (pieces.prefix) {
    const auto prefix = plain_number(*pieces.prefix, bits);
    if (!prefix) {
      return refuse_rule(text, "has a prefix length outside 0.." + std::to_string(bits), {});
    }
    rule.prefix = *prefix;
    rule.ranged = rule.prefix == bits;
  }
  if (!host_bits_are_zero(rule.address, rule.prefix)) {
    return refuse_rule(text, "has bits set behind its prefix",
                       "write the first address of the range");
  }
  if (rule.kind == Kind::Address6 && rule.prefix >= kMappedBits &&
      same_bits(rule.address, kMappedPrefix, kMappedBits)) {
    rule.kind = Kind::Address4;
    rule.prefix -= kMappedBits;
    std::rotate(rule.address.begin(), rule.address.begin() + 12, rule.address.end());
    std::fill(rule.address.begin() + 4, rule.address.end(), std::uint8_t{0});
  }
  if (rule.kind == Kind::Address6 && embeds_ipv4(rule)) {
    return refuse_rule(text, "is an IPv4 address in disguise", "write the IPv4 address");
  }
  return rule;
}

Result<HostRule> parse_named(std::string_view text, HostRule rule, const Pieces& pieces) {
  if (pieces.prefix) {
    return refuse_rule(text, "is not an address range",
                       "write HOST or HOST:PORT, without scheme or path");
  }
  std::string name = lower_case(pieces.host);
  if (name.ends_with('.')) name.pop_back();
  if (name.starts_with("*.")) {
    rule.kind = Kind::Subdomains;
    name.erase(0, 2);
  }
  if (name.find('*') != std::string::npos) {
    return refuse_rule(text, "has a wildcard that is not a leading \"*.\"",
                       "list the names, or use mode = \"open\" if everything is meant");
  }
  if (!is_name(name)) {
    return refuse_rule(text, "is not a host name",
                       "write an ASCII name such as \"example.com:443\"");
  }
  if (rule.kind == Kind::Subdomains && name.find('.') == std::string::npos) {
    return refuse_rule(text, "covers a whole top-level domain",
                       "name at least two labels after \"*.\"");
  }
  if (resembles_ipv4(name)) {
    return refuse_rule(text, "is an unusual spelling of an address",
                       "write four decimal numbers without leading zeros");
  }
  rule.name = std::move(name);
  return rule;
}

bool is_below(std::string_view name, std::string_view domain) {
  return name.size() > domain.size() && name.ends_with(domain) &&
         name[name.size() - domain.size() - 1] == '.';
}

bool host_covers(const HostRule& outer, const HostRule& inner) {
  switch (outer.kind) {
    case Kind::Name:
      if (is_loopback_name(outer.name) && lies_in_loopback(inner)) return true;
      return inner.kind == Kind::Name && inner.name == outer.name;
    case Kind::Subdomains:
      if (is_address(inner)) return false;
      return is_below(inner.name, outer.name) ||
             (inner.kind == Kind::Subdomains && inner.name == outer.name);
    case Kind::Address4:
    case Kind::Address6:
      return inner.kind == outer.kind && inner.prefix >= outer.prefix &&
             same_bits(outer.address, inner.address, outer.prefix);
  }
  return false;
}

}  // namespace

bool lies_in_loopback(const HostRule& rule) {
  constexpr std::array<std::uint8_t, 16> kLoopback6{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  if (rule.kind == Kind::Address4) return rule.prefix >= 8 && rule.address[0] == 127;
  return rule.kind == Kind::Address6 && rule.prefix == kBits6 && rule.address == kLoopback6;
}

bool has_one_port(const HostRule& rule) { return rule.first_port == rule.last_port; }

bool names_its_host(const HostRule& rule) {
  return names_one_address(rule) || rule.kind == Kind::Name;
}

bool gives_loopback(const HostRule& rule) {
  const bool loopback =
      lies_in_loopback(rule) || (rule.kind == Kind::Name && is_loopback_name(rule.name));
  return loopback && names_its_host(rule) && has_one_port(rule);
}

bool is_address(const HostRule& rule) {
  return rule.kind == Kind::Address4 || rule.kind == Kind::Address6;
}

void NetRules::allow_host(HostRule rule) {
  // The list of another mode would come to life with this one.
  if (mode != NetMode::Allow) {
    allow.clear();
    http.clear();
  }
  mode = NetMode::Allow;
  allow.push_back(std::move(rule));
}

std::optional<std::string> rule_of_url(std::string_view text) {
  struct Scheme {
    std::string_view name;
    std::string_view port;
  };
  constexpr std::array<Scheme, 7> kSchemes{{{"http", "80"},
                                            {"https", "443"},
                                            {"ws", "80"},
                                            {"wss", "443"},
                                            {"ssh", "22"},
                                            {"ftp", "21"},
                                            {"git", "9418"}}};
  const std::size_t end = text.find("://");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string scheme = lower_case(text.substr(0, end));
  std::string_view place = text.substr(end + 3);
  place = place.substr(0, place.find_first_of("/?#"));
  if (const std::size_t at = place.rfind('@'); at != std::string_view::npos)
    place.remove_prefix(at + 1);
  const std::string written(place);
  const auto plain = parse_host_rule(written);
  if (!plain) return std::nullopt;
  const bool has_port = plain->first_port != kLowestPort || plain->last_port != kHighestPort;
  const auto* const known = std::ranges::find(kSchemes, scheme, &Scheme::name);
  if (has_port || known == kSchemes.end()) return written;
  return written + ":" + std::string(known->port);
}

Result<HostRule> parse_host_rule(std::string_view text) {
  if (text.empty()) return refuse_rule(text, "is empty", "name a host: \"example.com:443\"");
  if (text.find_first_of(", ") != std::string_view::npos)
    return refuse_rule(text, "names more than one host", "write a rule for each of them");
  if (text.find("://") != std::string_view::npos) {
    const auto rule = rule_of_url(text);
    return refuse_rule(text, "is a URL",
                       "write the host alone" + (rule ? ": \"" + *rule + "\"" : ""));
  }
  const auto pieces = take_apart(text);
  if (!pieces) return refuse_rule(text, "has a bracket out of place", "write \"[::1]:443\"");
  HostRule rule;
  if (pieces->ports) {
    if (!pieces->bracketed && pieces->ports->find(':') != std::string_view::npos) {
      return refuse_rule(text, "has more than one colon", "write an IPv6 address as \"[::1]:443\"");
    }
    const auto ports = parse_ports(*pieces->ports);
    if (!ports)
      return refuse_rule(text, "has a port outside 1..65535", "write \":443\" or \":8000-8099\"");
    rule.first_port = ports->first;
    rule.last_port = ports->last;
  }
  if (pieces->bracketed) {
    if (pieces->host.find('%') != std::string_view::npos) {
      return refuse_rule(text, "has a zone id", "leave out the part from \"%\" on");
    }
    const auto address = parse_ipv6(pieces->host);
    if (!address) return refuse_rule(text, "is not an IPv6 address", {});
    rule.kind = Kind::Address6;
    rule.address = *address;
    return finish_address(text, rule, *pieces);
  }
  if (const auto address = parse_ipv4(pieces->host)) {
    rule.kind = Kind::Address4;
    rule.address = *address;
    return finish_address(text, rule, *pieces);
  }
  return parse_named(text, rule, *pieces);
}

std::string to_string(const HostRule& rule) {
  std::string text;
  char buffer[INET6_ADDRSTRLEN] = {};
  switch (rule.kind) {
    case Kind::Name:
      text = rule.name;
      break;
    case Kind::Subdomains:
      text = "*." + rule.name;
      break;
    case Kind::Address4:
      text = ::inet_ntop(AF_INET, rule.address.data(), buffer, sizeof buffer);
      if (rule.prefix != kBits4 || rule.ranged)
        text.append("/").append(std::to_string(rule.prefix));
      break;
    case Kind::Address6:
      text.append("[").append(::inet_ntop(AF_INET6, rule.address.data(), buffer, sizeof buffer));
      text.append("]");
      if (rule.prefix != kBits6 || rule.ranged)
        text.append("/").append(std::to_string(rule.prefix));
      break;
  }
  if (rule.first_port == kLowestPort && rule.last_port == kHighestPort) return text;
  text.append(":").append(std::to_string(rule.first_port));
  if (rule.last_port != rule.first_port) {
    text.append("-").append(std::to_string(rule.last_port));
  }
  return text;
}

bool is_loopback_name(std::string_view name) {
  return name == "localhost" || name.ends_with(".localhost");
}

bool names_one_address(const HostRule& rule) {
  return !rule.ranged && ((rule.kind == Kind::Address4 && rule.prefix == kBits4) ||
                          (rule.kind == Kind::Address6 && rule.prefix == kBits6));
}

bool makes_needless(const HostRule& outer, const HostRule& inner) {
  if (!covers(outer, inner)) return false;
  if (gives_loopback(inner) && !has_one_port(outer)) return false;
  return names_its_host(outer) || !names_one_address(inner);
}

bool covers(const HostRule& outer, const HostRule& inner) {
  return outer.first_port <= inner.first_port && inner.last_port <= outer.last_port &&
         host_covers(outer, inner);
}

std::optional<HostRule> intersect(const HostRule& a, const HostRule& b) {
  // Names form a tree, and so do prefixes: two rules are nested or share nothing.
  HostRule both;
  if (host_covers(a, b)) {
    both = b;
  } else if (host_covers(b, a)) {
    both = a;
  } else {
    return std::nullopt;
  }
  both.first_port = std::max(a.first_port, b.first_port);
  both.last_port = std::min(a.last_port, b.last_port);
  if (both.first_port > both.last_port) return std::nullopt;
  // A rule for the host's loopback with several ports admits nothing of it.
  const bool one_each = has_one_port(a) && has_one_port(b);
  if (gives_loopback(both) && !one_each) return std::nullopt;
  if (names_one_address(both)) both.ranged = !names_its_host(a) || !names_its_host(b);
  return both;
}

bool matches_name(const HostRule& rule, std::string_view name, std::uint16_t port) {
  std::string asked = lower_case(name);
  if (asked.ends_with('.')) asked.pop_back();
  if (!is_name(asked) || resembles_ipv4(asked)) return false;
  HostRule query;
  query.name = std::move(asked);
  query.first_port = port;
  query.last_port = port;
  return covers(rule, query);
}

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
