// FilterProfile: what of the filter may differ from run to run. There is no profile without it.
#pragma once

#include "cordon/policy.h"

namespace cordon {

struct FilterProfile {
  NetMode net = NetMode::None;
  bool brokered = false;     // asked for also where the network mode does not need it
  bool shares_host = false;  // no namespaces: see shared_host_rules.h

  // True if the supervisor answers connect and bind. Only then are there local sockets.
  [[nodiscard]] bool has_broker() const { return brokered || net == NetMode::Allow; }
};

}  // namespace cordon
