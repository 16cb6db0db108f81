#include "policy/host_rule_index.h"

#include <algorithm>
#include <utility>

#include "policy/net_rules.h"

namespace cordon {
namespace {

using Kind = HostRule::Kind;

constexpr unsigned kMostBits = 128;

// How many bits of the byte belong to a prefix of that length.
unsigned bits_of(unsigned prefix, unsigned byte) {
  return prefix <= 8 * byte ? 0U : std::min(prefix - 8 * byte, 8U);
}

std::string masked(const HostRule& rule, unsigned prefix) {
  std::string bytes;
  for (unsigned i = 0; i < rule.address.size(); ++i) {
    bytes.push_back(static_cast<char>(rule.address[i] & (0xFF00U >> bits_of(prefix, i))));
  }
  return bytes;
}

char letter_of(Kind kind) {
  switch (kind) {
    case Kind::Name:
      return 'n';
    case Kind::Subdomains:
      return 's';
    case Kind::Address4:
      return '4';
    case Kind::Address6:
      return '6';
  }
  return 'n';
}

std::string name_key(Kind kind, std::string_view name) {
  return std::string(1, letter_of(kind)).append(name);
}

enum class Named { Yes, No };

std::string address_key(const HostRule& rule, unsigned prefix, Named named) {
  std::string key(1, letter_of(rule.kind));
  key.push_back(static_cast<char>(prefix));
  key.push_back(named == Named::Yes ? 'y' : 'n');
  return key + masked(rule, prefix);
}

unsigned prefix_of(const HostRule& rule) { return std::min(rule.prefix, kMostBits); }

std::string key_of(const HostRule& rule) {
  if (!is_address(rule)) return name_key(rule.kind, rule.name);
  return address_key(rule, prefix_of(rule), names_its_host(rule) ? Named::Yes : Named::No);
}

// Names from the last label on, so that what lies below a name lies behind it: "com.example.www.".
// The separator sorts before everything else that a label holds.
std::string order_of(std::string_view name) {
  std::string out;
  while (true) {
    const std::size_t dot = name.rfind('.');
    out.append(dot == std::string_view::npos ? name : name.substr(dot + 1)).push_back('\x01');
    if (dot == std::string_view::npos) return out;
    name = name.substr(0, dot);
  }
}

std::string order_of(const HostRule& rule) {
  if (!is_address(rule)) return "n" + order_of(rule.name);
  return letter_of(rule.kind) + masked(rule, kMostBits);
}

// Above every string that begins with `start`.
std::string behind(std::string start) {
  while (!start.empty() && start.back() == '\xFF') start.pop_back();
  if (!start.empty())
    start.back() = static_cast<char>(static_cast<unsigned char>(start.back()) + 1);
  return start;
}

std::vector<std::uint16_t> largest_so_far(const std::vector<const HostRule*>& rules) {
  std::vector<std::uint16_t> largest;
  for (const HostRule* rule : rules)
    largest.push_back(largest.empty() ? rule->last_port
                                      : std::max(largest.back(), rule->last_port));
  return largest;
}

}  // namespace

void HostRuleIndex::Host::finish() {
  std::ranges::stable_sort(
      rules, {}, [](const HostRule* rule) { return std::pair(rule->first_port, rule->last_port); });
  last = largest_so_far(rules);
  for (const HostRule* rule : rules) {
    if (has_one_port(*rule)) single.push_back(rule->first_port);
    if (!has_one_port(*rule)) several.push_back(rule);
  }
  several_last = largest_so_far(several);
}

HostRuleIndex::HostRuleIndex(const std::vector<HostRule>& rules) : rules_(rules) {
  for (std::size_t place = 0; place < rules.size(); ++place) {
    const HostRule& rule = rules[place];
    hosts_[key_of(rule)].rules.push_back(&rule);
    if (rule.kind == Kind::Address4) prefixes4_.insert(prefix_of(rule));
    if (rule.kind == Kind::Address6) prefixes6_.insert(prefix_of(rule));
    if (rule.kind == Kind::Name && is_loopback_name(rule.name))
      loopback_names_.rules.push_back(&rule);
    ordered_.push_back({order_of(rule), rule.first_port, place});
  }
  for (auto& [key, host] : hosts_) host.finish();
  loopback_names_.finish();
  std::ranges::sort(ordered_);
}

std::size_t HostRuleIndex::first_behind(const std::vector<const HostRule*>& rules,
                                        std::uint16_t port) {
  const auto found = std::ranges::upper_bound(rules, port, {}, &HostRule::first_port);
  return static_cast<std::size_t>(found - rules.begin());
}

// Two rules for one host are equal if their ports are: a rule of the list counts once.
bool HostRuleIndex::has_ports_of(const Host& host, const HostRule& rule, Itself itself) {
  if (has_one_port(rule)) {
    const auto [from, to] = std::ranges::equal_range(host.single, rule.first_port);
    if (to - from > (itself == Itself::Counts ? 0 : 1)) return true;
  }
  const std::size_t before = first_behind(host.several, rule.first_port);
  if (before == 0) return false;
  const std::uint16_t largest = host.several_last[before - 1];
  if (itself == Itself::Counts || has_one_port(rule)) return largest >= rule.last_port;
  // Another one begins here and reaches further, or it is there twice, or one begins before it.
  const HostRule& longest = *host.several[before - 1];
  if (longest.last_port > rule.last_port) return true;
  const auto is_equal = [&](const HostRule& other) {
    return other.first_port == rule.first_port && other.last_port == rule.last_port;
  };
  if (before > 1 && is_equal(*host.several[before - 2])) return true;
  const auto first =
      std::ranges::lower_bound(host.several, rule.first_port, {}, &HostRule::first_port);
  const auto earlier = static_cast<std::size_t>(first - host.several.begin());
  return earlier > 0 && host.several_last[earlier - 1] >= rule.last_port;
}

const HostRuleIndex::Host* HostRuleIndex::find(const std::string& key) const {
  const auto found = hosts_.find(key);
  return found == hosts_.end() ? nullptr : &found->second;
}

std::vector<const HostRuleIndex::Host*> HostRuleIndex::hosts_around(const HostRule& rule) const {
  std::vector<const Host*> around;
  const auto add = [&](const Host* host) {
    if (host != nullptr) around.push_back(host);
  };
  if (is_address(rule)) {
    for (const unsigned prefix : rule.kind == Kind::Address4 ? prefixes4_ : prefixes6_) {
      if (prefix > rule.prefix) break;
      add(find(address_key(rule, prefix, Named::Yes)));
      add(find(address_key(rule, prefix, Named::No)));
    }
    if (lies_in_loopback(rule) && !loopback_names_.rules.empty()) add(&loopback_names_);
    return around;
  }
  if (rule.kind == Kind::Name) add(find(name_key(Kind::Name, rule.name)));
  if (rule.kind == Kind::Subdomains) add(find(name_key(Kind::Subdomains, rule.name)));
  for (std::size_t dot = rule.name.find('.'); dot != std::string::npos;
       dot = rule.name.find('.', dot + 1)) {
    add(find(name_key(Kind::Subdomains, std::string_view(rule.name).substr(dot + 1))));
  }
  return around;
}

bool HostRuleIndex::any_covers(const HostRule& rule) const {
  return std::ranges::any_of(hosts_around(rule), [&](const Host* host) {
    return has_ports_of(*host, rule, Itself::Counts);
  });
}

// As makes_needless() of net_rules.h says of one pair.
bool HostRuleIndex::makes_needless(const HostRule& rule, Itself itself) const {
  const Host* own = itself == Itself::DoesNot ? find(key_of(rule)) : nullptr;
  for (const Host* host : hosts_around(rule)) {
    if (!names_its_host(*host->rules.front()) && names_one_address(rule)) continue;
    const Itself counted = host == own ? Itself::DoesNot : Itself::Counts;
    if (!gives_loopback(rule)) {
      if (has_ports_of(*host, rule, counted)) return true;
      continue;
    }
    const auto [from, to] = std::ranges::equal_range(host->single, rule.first_port);
    if (to - from > (counted == Itself::Counts ? 0 : 1)) return true;
  }
  return false;
}

bool HostRuleIndex::any_makes_needless(const HostRule& rule) const {
  return makes_needless(rule, Itself::Counts);
}

bool HostRuleIndex::another_makes_needless(const HostRule& rule) const {
  return makes_needless(rule, Itself::DoesNot);
}

std::vector<std::size_t> HostRuleIndex::places_within(const HostRule& rule) const {
  std::vector<std::size_t> places;
  const auto add = [&](const Ordered& from, const Ordered& to) {
    for (auto at = std::ranges::lower_bound(ordered_, from); at != ordered_.end() && *at < to; ++at)
      places.push_back(at->place);
  };
  const std::string start = order_of(rule);
  if (is_address(rule)) {
    std::string low(1, letter_of(rule.kind));
    low += masked(rule, prefix_of(rule));
    std::string high = low;
    for (unsigned i = 0; i < rule.address.size(); ++i) {
      high[1 + i] = static_cast<char>(static_cast<unsigned char>(high[1 + i]) |
                                      (0xFFU >> bits_of(prefix_of(rule), i)));
    }
    add({low, 0, 0}, {high, kHighestPort, rules_.size()});
    return places;
  }
  if (rule.kind == Kind::Subdomains) {
    add({start, 0, 0}, {behind(start), 0, 0});
    return places;
  }
  add({start, rule.first_port, 0}, {start, rule.last_port, rules_.size()});
  if (!is_loopback_name(rule.name)) return places;
  for (const std::string_view loopback : {"127.0.0.0/8", "[::1]"}) {
    const std::vector<std::size_t> more = places_within(*parse_host_rule(loopback));
    places.insert(places.end(), more.begin(), more.end());
  }
  return places;
}

std::vector<const HostRule*> HostRuleIndex::covered_by(const HostRule& rule) const {
  std::vector<std::size_t> places = places_within(rule);
  std::ranges::sort(places);
  std::vector<const HostRule*> covered;
  for (const std::size_t place : places)
    if (covers(rule, rules_[place])) covered.push_back(&rules_[place]);
  return covered;
}

}  // namespace cordon
