// Whatever a sandbox sends to its resolver: an answer repeats the question, gives an address only
// to names that a rule allows, and never one that is not synthetic or loopback.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "egress/names.h"
#include "policy/decide_net.h"
#include "policy/net_rules.h"
#include "require_that.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon;
  NetRules net;
  net.mode = NetMode::Allow;
  net.allow = {parse_host_rule("good.example:443").value(),
               parse_host_rule("*.wide.example").value()};
  SyntheticNames names;
  Attempts attempts;
  const RulesSource rules(net);
  Resolver resolver(rules, names, attempts, Resolver::Ipv6::Yes);
  const DnsBytes answer = resolver.answer({data, size});
  if (answer.empty()) return 0;
  const auto question = read_question({data, size});
  require_that(question.has_value());
  require_that(answer.size() >= 12 + question->wire.size());
  require_that(answer[0] == data[0] && answer[1] == data[1]);
  require_that(std::equal(question->wire.begin(), question->wire.end(), answer.begin() + 12));
  if (answer[7] == 0) return 0;
  require_that(is_loopback_name(question->name) || is_known_name(net, question->name));
  Address given;
  given.family = question->type == kDnsTypeA ? Address::Family::V4 : Address::Family::V6;
  const std::ptrdiff_t bytes = question->type == kDnsTypeA ? 4 : 16;
  std::copy(answer.end() - bytes, answer.end(), given.bytes.begin());
  require_that(kind_of(given) == AddressKind::Loopback || names.name_of(given) == question->name);
  return 0;
}
