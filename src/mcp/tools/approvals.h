// Approvals: what a person at the client let this server do beyond its ceilings, and what they
// would not. Each ends by the clock and with the server; Toolbox::bounds ends one whose ceiling no
// longer lets it be asked for. Safe for concurrent use.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "base/fd.h"
#include "mcp/tools/bounds.h"

namespace cordon::mcp {

class Approvals {
 public:
  // `pin` keeps the approved object's number from being given to another one. False if there are
  // too many.
  bool keep(Approval approval, Fd pin, std::uint64_t lifetime_ms);
  // Those that hold now, with what is left of their time.
  [[nodiscard]] std::vector<LiveApproval> live();
  void end(const std::string& id);

  // Who said no is not asked the same again, and after many noes not asked anything.
  void note_no(const std::string& question);
  [[nodiscard]] bool is_settled(const std::string& question) const;

 private:
  struct Entry {
    Approval approval;
    Fd pin;
    std::uint64_t ends_ms = 0;
  };

  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  std::vector<std::string> noes_;
};

}  // namespace cordon::mcp
