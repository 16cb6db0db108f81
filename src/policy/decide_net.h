// The verdict of network mode allow on real addresses. A name is judged first, by decide_connect;
// what it leads to is judged here, for whoever answers DNS must not decide what is reached. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "policy/address.h"
#include "policy/decide.h"

namespace cordon {

// An address that was asked for as such: only a rule for addresses admits it. Public and private
// ones need a rule that covers them; `own` addresses of this host, and whatever is neither public
// nor private, a rule for exactly that address. Loopback: see reaches_host_loopback.
Verdict decide_literal(const NetRules& net, const Address& address, std::uint16_t port,
                       std::span<const Address> own);

// An address that a name led to, which `by_name` admits: a public one is admitted with the name,
// any other only if decide_literal admits it too. A deny holds for both.
Verdict decide_resolved(const NetRules& net, const Verdict& by_name, const Address& address,
                        std::uint16_t port, std::span<const Address> own);

// The rule that makes a loopback address mean the host's: one that names that address, or
// localhost, and a single port. Without one it is the sandbox's own.
const HostRule* reaches_host_loopback(const NetRules& net, const Address& address,
                                      std::uint16_t port);

// True if some port of the name is admitted, so that the name exists inside.
bool is_known_name(const NetRules& net, std::string_view name);

}  // namespace cordon
