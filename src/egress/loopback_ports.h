// Listening at the host's loopback for what is published.
#pragma once

#include <vector>

#include "base/fd.h"
#include "cordon/policy.h"

namespace cordon {

struct LoopbackPort {
  PublishRule rule;
  std::vector<Fd> listeners;  // 127.0.0.1, and ::1 where the host has it
};

// An error names the port that cannot be had. No other address of the host is listened at.
Result<std::vector<LoopbackPort>> listen_at_loopback(const std::vector<PublishRule>& rules);

}  // namespace cordon
