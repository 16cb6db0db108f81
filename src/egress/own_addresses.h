// The addresses of this host's interfaces: a service bound to all of them can be reached by any.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "cordon/policy.h"
#include "egress/waiting_call.h"
#include "policy/address.h"

namespace cordon {

// LocalAddress: what the address of a local socket means, read as the kernel reads it.

struct LocalAddress {
  enum class Kind {
    Unnamed,   // a family and nothing more: bind chooses an abstract name
    Abstract,  // a name of the socket's network namespace
    Path,      // a name in the file system
  };
  Kind kind = Kind::Unnamed;
  std::string name;  // a path as the caller wrote it; an abstract name without its leading zero
};

// Nothing for an address that the kernel would not take either.
std::optional<LocalAddress> read_local_address(const GivenAddress& address);

// Listening at the host's loopback for what is published.

struct LoopbackPort {
  PublishRule rule;
  std::vector<Fd> listeners;  // 127.0.0.1, and ::1 where the host has it
};

// An error names the port that cannot be had. No other address of the host is listened at.
Result<std::vector<LoopbackPort>> listen_at_loopback(const std::vector<PublishRule>& rules);

Result<std::vector<Address>> own_addresses();
// True if one of them is an IPv6 address that leads further than the next cable.
bool has_public_ipv6(const std::vector<Address>& own);

}  // namespace cordon
