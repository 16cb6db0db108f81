// OwnRecords: the audit records of this server's calls, as the log has them: labels and hashes.
// What else happens on this machine is in the same log and is nobody's business here.
#pragma once

#include <deque>
#include <mutex>
#include <string>

#include "audit/log.h"
#include "config/node.h"

namespace cordon::mcp {

class OwnRecords {
 public:
  void note(const std::string& event_id);
  // Oldest first, at most as many as were noted; whatever of the log lies further back is left out.
  [[nodiscard]] Result<NodeList> read(const audit::Place& place) const;

 private:
  mutable std::mutex mutex_;
  std::deque<std::string> ids_;
};

}  // namespace cordon::mcp
