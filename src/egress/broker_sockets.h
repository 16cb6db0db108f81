// What a broker answers a sandbox on. A backend hands it over; nothing of it is copied on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/fd.h"

namespace cordon {

// A bind call of the command that is to be made in the sandbox, with the rights of the command.
struct SandboxBind {
  int socket = -1;
  int directory = -1;      // where a relative name begins; negative if the address names no file
  std::uint32_t mask = 0;  // of file modes
  std::span<const std::byte> address;
};

// An errno, 0 if it was done. From any thread, and also after the sandbox is gone.
using BindInSandbox = std::function<int(const SandboxBind&)>;

// All invalid where there is no broker.
struct BrokerSockets {
  Fd listener;                       // of the command's filter
  Fd datagrams;                      // of the sandbox's own network, for DNS; not in mode open
  Fd streams;                        // the same, listening
  std::uint64_t network = 0;         // the namespace of those two
  std::uint64_t private_device = 0;  // of the private space, which only the sandbox has; or zero
  BindInSandbox bind_in_sandbox;
};

}  // namespace cordon
