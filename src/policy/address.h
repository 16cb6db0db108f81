// Address: an IPv4 or IPv6 address, and what kind of place it leads to. Pure.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "cordon/policy.h"

namespace cordon {

struct Address {
  enum class Family { V4, V6 };
  Family family = Family::V4;
  std::array<std::uint8_t, 16> bytes{};  // V4 uses the first four
  auto operator<=>(const Address&) const = default;
};

enum class AddressKind {
  Public,
  Private,   // of somebody's own network, shared address space and unique local included
  Metadata,  // where clouds hand out the machine's credentials
  Loopback,
  LinkLocal,
  Unspecified,  // which the kernel takes for loopback
  Multicast,    // broadcast too
  Reserved,
};

// What the network unpacks from a v4-mapped, v4-compatible, NAT64, 6to4 or Teredo address; any
// other address itself. Judged by its outside, such an address would pass every IPv4 rule.
Address innermost(const Address& address);
// Of the innermost address.
AddressKind kind_of(const Address& address);
// "link-local", for messages.
std::string_view name_of(AddressKind kind);

// True if it is written as an IPv6 address but is an IPv4 one to the kernel.
bool is_mapped(const Address& address);

// Without brackets.
std::string to_string(const Address& address);
// The rule that admits this address and port alone.
HostRule exactly(const Address& address, std::uint16_t port);

}  // namespace cordon
