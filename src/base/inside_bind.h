// InsideBind: a bind call of a sandbox's command that is to be made inside, with the rights of the
// command. A backend offers it, a broker asks for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace cordon {

struct InsideBind {
  int socket = -1;
  int directory = -1;      // where a relative name begins; negative if the address names no file
  std::uint32_t mask = 0;  // of file modes
  std::span<const std::byte> address;
};

// An errno, 0 if it was done. From any thread, and also after the sandbox is gone.
using BindInside = std::function<int(const InsideBind&)>;

}  // namespace cordon
