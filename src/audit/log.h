// Log: the durable account of what was done, written before it is done. One per process is enough;
// threads may share it. docs/audit-format.md describes the files.
#pragma once

#include <string>
#include <vector>

#include "audit/chain.h"
#include "audit/record.h"
#include "audit/redactor.h"

namespace cordon::audit {

// Where the log lies: $XDG_STATE_HOME/cordon/audit.
struct Place {
  std::string directory;
};
Place place_of(const Caller& caller);

class Log {
 public:
  // Makes the directory, 0700, and what belongs in it on first use. Refuses one that is a symlink,
  // belongs to another user or is open to others.
  static Result<Log> open(const Place& place);
  static Result<Log> open(const Place& place, Writer writer, Clock clock);

  [[nodiscard]] Redactor redactor(const Caller& caller) const { return {chain_.key(), caller}; }

  // Durable before it returns: no receipt, no effect.
  Result<Receipt> begin(const Pending& pending);
  // Exactly once for each receipt. Not synced: the next begin() covers it, and a power cut before
  // that leaves an open action, which recovery closes.
  Result<void> close(const Receipt& receipt, const Closing& closing);
  // An action that was refused before anything began: one closing record of its own. Answers with
  // its event id.
  Result<std::string> refuse(const Pending& pending, const Closing& closing);
  // Closes what dead processes left open, as a failure with the reason `crash`. Answers with the
  // event ids.
  Result<std::vector<std::string>> close_lost();

  // For what happened while the log could not be written: the time and the name it had then.
  struct Stamp {
    std::string event_id;
    std::int64_t wall_us = 0;
    std::uint64_t boot_ms = 0;
  };
  static Result<Stamp> stamp(const Clock& clock);
  Result<Receipt> begin_late(const Stamp& stamp, const Pending& pending);
  // False if it is closed already.
  Result<bool> close_late(const Receipt& receipt, const Stamp& stamp, const Closing& closing);
  Result<void> refuse_late(const Stamp& stamp, const Pending& pending, const Closing& closing);
  // A note that tells of records that follow late, and of those that never will.
  struct Gap {
    std::int64_t since_us = 0;
    std::uint64_t late = 0;
    std::uint64_t dropped = 0;
  };
  Result<void> tell_gap(const Gap& gap);

  [[nodiscard]] Chain& chain() { return chain_; }

 private:
  explicit Log(Chain chain) : chain_(std::move(chain)) {}
  Chain chain_;
};

}  // namespace cordon::audit
