// HostRuleIndex: which rules of a list stand in a relation to another rule, without comparing all
// pairs. A ceiling may list every host of a company.
//
// What can cover a host is found by its own spelling: the same name, each name above it with "*.",
// and each prefix of its address that the list knows. Of the rules for one host only ports differ;
// they are sorted, so that a covering one is found by bisection. What a rule covers lies together
// in an order in which names are compared from their last label on.
//
// The relations themselves are those of net_rules.h: the index only leaves out what cannot stand in
// them. Pure.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cordon/policy.h"

namespace cordon {

class HostRuleIndex {
 public:
  // Refers to `rules`, which outlive it.
  explicit HostRuleIndex(const std::vector<HostRule>& rules);

  // Whether one of them covers `rule`.
  [[nodiscard]] bool any_covers(const HostRule& rule) const;
  // Whether one of them makes `rule` needless, itself included.
  [[nodiscard]] bool any_makes_needless(const HostRule& rule) const;
  // The same of a rule of the list: whether another one does.
  [[nodiscard]] bool another_makes_needless(const HostRule& rule) const;
  // Calls `visit` with each that names the host of `rule` or a host around it and shares a port
  // with it.
  template <typename Visit>
  void visit_around(const HostRule& rule, Visit&& visit) const {
    for (const Host* host : hosts_around(rule)) visit_ports(*host, rule, visit);
  }
  // Those that `rule` covers, in the order of the list.
  [[nodiscard]] std::vector<const HostRule*> covered_by(const HostRule& rule) const;

 private:
  // The rules for one host, or one range, all of which name it or none.
  struct Host {
    std::vector<const HostRule*> rules;    // by first port, then by last
    std::vector<std::uint16_t> last;       // the largest last port up to here
    std::vector<std::uint16_t> single;     // the ports of those for one port, sorted
    std::vector<const HostRule*> several;  // those for more than one, by first port
    std::vector<std::uint16_t> several_last;
    void finish();
  };

  template <typename Visit>
  static void visit_ports(const Host& host, const HostRule& rule, Visit& visit) {
    const auto behind = first_behind(host.rules, rule.last_port);
    for (std::size_t i = behind; i > 0 && host.last[i - 1] >= rule.first_port; --i) {
      if (host.rules[i - 1]->last_port >= rule.first_port) visit(*host.rules[i - 1]);
    }
  }
  // How many begin at `port` or before it.
  static std::size_t first_behind(const std::vector<const HostRule*>& rules, std::uint16_t port);
  enum class Itself { Counts, DoesNot };
  static bool has_ports_of(const Host& host, const HostRule& rule, Itself itself);

  [[nodiscard]] const Host* find(const std::string& key) const;
  [[nodiscard]] std::vector<const Host*> hosts_around(const HostRule& rule) const;
  [[nodiscard]] bool makes_needless(const HostRule& rule, Itself itself) const;
  [[nodiscard]] std::vector<std::size_t> places_within(const HostRule& rule) const;

  const std::vector<HostRule>& rules_;
  std::unordered_map<std::string, Host> hosts_;
  std::set<unsigned> prefixes4_;
  std::set<unsigned> prefixes6_;
  Host loopback_names_;  // every one of them covers every loopback address
  struct Ordered {
    std::string key;
    std::uint16_t first_port;
    std::size_t place;
    auto operator<=>(const Ordered&) const = default;
  };
  std::vector<Ordered> ordered_;
};

}  // namespace cordon
