// A port on this network's loopback that accepts, for attempts to reach it.
#pragma once

#include <cstdint>

#include "base/fd.h"

namespace cordon::sys {

class LoopbackListener {
 public:
  LoopbackListener();

  [[nodiscard]] std::uint16_t port() const { return port_; }  // zero: it could not be opened
  // True once for every caller. One that came is in the queue already: connect(2) returns after
  // that.
  [[nodiscard]] bool was_reached() const;

 private:
  Fd socket_;
  std::uint16_t port_ = 0;
};

}  // namespace cordon::sys
