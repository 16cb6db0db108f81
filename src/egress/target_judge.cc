#include "egress/target_judge.h"

#include <algorithm>
#include <cerrno>

namespace cordon {
namespace {

constexpr int kNoAddress = EHOSTUNREACH;  // of an allowed name, or nobody could tell

bool has_family(const std::vector<Address>& addresses, Address::Family family) {
  return std::ranges::any_of(addresses, [&](const Address& one) { return one.family == family; });
}

}  // namespace

void note(const Verdict& verdict, Connection& attempt) {
  attempt.allowed = verdict.allowed;
  attempt.rule = verdict.rule;
  attempt.reason = verdict.allowed ? std::string{} : verdict.reason;
}

TargetJudge::Judged TargetJudge::judge(const NetRules& net, const Endpoint& target,
                                       Connection& attempt) {
  // A mapped address is an IPv4 one on an IPv6 socket.
  const Address plain = is_mapped(target.address) ? innermost(target.address) : target.address;
  const bool synthetic = SyntheticNames::holds(plain);
  if (const auto name = names_.name_of(plain); synthetic && name) {
    attempt.host = *name;
    return judge_name(net, *name, target.port, plain.family, attempt);
  }
  attempt.address = to_string(plain);
  const Verdict verdict =
      synthetic
          ? Verdict{false, "net.mode = \"allow\"", "it stands for no name", {}, HintRule::Network}
          : decide_literal(net, plain, target.port, own_);
  note(verdict, attempt);
  if (!verdict.allowed) return {{}, kRefusedCall};
  return {{{plain, target.port}}, 0};
}

std::optional<std::string> TargetJudge::name_of(const Address& address) const {
  const Address plain = is_mapped(address) ? innermost(address) : address;
  return SyntheticNames::holds(plain) ? names_.name_of(plain) : std::nullopt;
}

TargetJudge::Judged TargetJudge::judge_name(const NetRules& net, const std::string& name,
                                            std::uint16_t port,
                                            std::optional<Address::Family> family,
                                            Connection& attempt) {
  const Verdict by_name = decide_connect(net, name, port, own_);
  note(by_name, attempt);
  if (!by_name.allowed) return {{}, kRefusedCall};
  const std::vector<Address> addresses = lookup_.addresses_of(name);
  if (addresses.empty()) {
    attempt.error = error_name(kNoAddress);
    return {{}, kNoAddress};
  }
  if (family == Address::Family::V6 && !has_family(addresses, Address::Family::V6))
    family = Address::Family::V4;
  Judged judged{{}, kOtherFamily};
  for (const Address& address : addresses) {
    if (family && address.family != *family) continue;
    const Verdict verdict = decide_resolved(net, by_name, address, port, own_);
    if (verdict.allowed) {
      judged.targets.push_back({address, port});
    } else if (judged.error != kRefusedCall) {
      judged.error = kRefusedCall;
      attempt.address = to_string(address);
      note(verdict, attempt);
    }
  }
  if (!judged.targets.empty()) note(by_name, attempt);
  return judged;
}

}  // namespace cordon
