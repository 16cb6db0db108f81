// LocalAddress: what the address of a local socket means, read as the kernel reads it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "egress/waiting_call.h"

namespace cordon {

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

}  // namespace cordon
