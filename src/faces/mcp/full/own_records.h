// OwnRecords: the audit records of this server's calls, as the log has them: labels and hashes.
// What else happens on this machine is in the same log and is nobody's business here.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
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

// Verdicts: what was denied, refused or killed, as the model was told it, so that it can be
// explained later. Bounded; safe for concurrent use.

struct Verdict {
  std::string tool;
  Node told;          // the answer, without what came from a program or a file
  std::string layer;  // that refused it; empty: none that is known
};

class Verdicts {
 public:
  // Keeps the answer if it is a failure, or something in it could be asked about.
  void note(const std::string& tool, const Node& answer);
  // By the audit_id, run_id or process_id of an answer; the latest.
  [[nodiscard]] std::optional<Verdict> find(const std::string& id) const;

 private:
  mutable std::mutex mutex_;
  std::deque<Verdict> verdicts_;
};

// Of an answer: its ids, and of the rest Cordon's own words alone.
Verdict verdict_from(const std::string& tool, const Node& answer);
// What was tried, what stopped it, what can help and what to do next.
Node explained(const Verdict& verdict);

}  // namespace cordon::mcp
