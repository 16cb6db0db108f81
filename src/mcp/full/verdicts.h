// Verdicts: what was denied, refused or killed, as the model was told it, so that it can be
// explained later. Bounded; safe for concurrent use.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "config/node.h"

namespace cordon::mcp {

struct Verdict {
  std::string tool;
  Node told;  // the answer, without what came from a program or a file
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

// What was tried, what stopped it, what can help and what to do next.
Node explained(const Verdict& verdict);

}  // namespace cordon::mcp
