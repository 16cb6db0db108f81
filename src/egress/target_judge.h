// TargetJudge: which real addresses may be dialled for what a program wants to reach. The address
// of a program is one of the synthetic ones, which stand for a name, or a literal one. A name is
// judged first, then looked up, and each of its addresses judged again: who answers for an allowed
// name could otherwise lead anywhere, into the host's own networks first of all.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "egress/endpoint.h"
#include "egress/lookup.h"
#include "egress/meter.h"
#include "egress/names.h"
#include "policy/decide_net.h"

namespace cordon {

inline constexpr int kRefusedCall = EACCES;
inline constexpr int kOtherFamily =
    ENETUNREACH;  // the name has addresses, which the program tries next

// Puts what was decided into the account of the attempt.
void note(const Verdict& verdict, Connection& attempt);

// Thread-safe. The references must outlive it.
class TargetJudge {
 public:
  // `own`: the addresses of this host.
  TargetJudge(const SyntheticNames& names, const std::vector<Address>& own)
      : names_(names), own_(own) {}

  // The real addresses, and the errno for the caller if there are none.
  struct Judged {
    std::vector<Endpoint> targets;
    int error = 0;
  };
  Judged judge(const NetRules& net, const Endpoint& target, Connection& attempt);
  // The same of a host that is known by its name, for addresses of `family`, or of any. Inside
  // every name has an IPv6 address where the host has one, and some programs try no address but the
  // first: a name without IPv6 is reached by IPv4, to which sockets of IPv6 connect as well.
  Judged judge_name(const NetRules& net, const std::string& name, std::uint16_t port,
                    std::optional<Address::Family> family, Connection& attempt);
  // The name that an address of a program stands for.
  [[nodiscard]] std::optional<std::string> name_of(const Address& address) const;

 private:
  const SyntheticNames& names_;
  const std::vector<Address>& own_;
  Lookup lookup_;
};

}  // namespace cordon
