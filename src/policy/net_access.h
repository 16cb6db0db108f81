// The network mode that a document, an option or another tool's configuration spelled out, as the
// type that a policy takes.
#pragma once

#include "cordon/widening.h"

namespace cordon {

constexpr NetAccess access_of(NetMode mode) {
  switch (mode) {
    case NetMode::None:
      return NetMode::None;
    case NetMode::Allow:
      return NetMode::Allow;
    case NetMode::Open:
      return share_the_hosts_network();
  }
  return NetMode::None;
}

}  // namespace cordon
