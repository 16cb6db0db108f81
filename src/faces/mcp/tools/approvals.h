// Approvals: what the person at one client let its tools do beyond the ceilings, and what they
// would not. One server may have many clients over HTTP: a yes that A's person gave opens nothing
// for B, and a no at A's does not silence B.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/fd.h"
#include "faces/mcp/session.h"
#include "faces/mcp/tools/call_ceilings.h"

namespace cordon::mcp {

// Each approval ends by the clock and with the client; ToolContext::bounds ends one whose ceiling
// no longer lets it be asked for. Safe for concurrent use.
class Approvals final : public Activity {
 public:
  // `pin` keeps the approved object's number from being given to another one. False if there are
  // too many, or the client is gone.
  bool keep(Approval approval, Fd pin, std::uint64_t lifetime_ms);
  // Those that hold now, with what is left of their time.
  [[nodiscard]] std::vector<LiveApproval> live();
  void withdraw(const std::string& id);

  // Who said no is not asked the same again, and after many noes not asked anything.
  void note_no(const std::string& question);
  [[nodiscard]] bool is_settled(const std::string& question) const;

  // No work that a client would have to be kept for; with it all of them end.
  [[nodiscard]] bool goes_on() const override { return false; }
  void end() override;

 private:
  struct Entry {
    Approval approval;
    Fd pin;
    std::uint64_t ends_ms = 0;
  };

  mutable std::mutex mutex_;
  std::deque<Entry> entries_;
  std::vector<std::string> noes_;
  bool over_ = false;
};

// The approvals of each client of a server. Safe for concurrent use.
class ClientApprovals {
 public:
  [[nodiscard]] std::shared_ptr<Approvals> of(const std::shared_ptr<Client>& client);

 private:
  struct Entry {
    std::weak_ptr<Client> client;
    std::shared_ptr<Approvals> approvals;
  };

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace cordon::mcp
