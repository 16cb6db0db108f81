// The addresses of this host's interfaces: a service bound to all of them can be reached by any.
#pragma once

#include <vector>

#include "base/result.h"
#include "policy/address.h"

namespace cordon {

Result<std::vector<Address>> own_addresses();
// True if one of them is an IPv6 address that leads further than the next cable.
bool has_public_ipv6(const std::vector<Address>& own);

}  // namespace cordon
