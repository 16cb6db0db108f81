// Recorder: a Log together with what the operator wants when it cannot be written. `deny` passes
// the error on, and nothing is done. `buffer` keeps a bounded number of records in memory and
// writes them, behind a note that tells the gap, as soon as the log takes records again. `warn`
// goes on and tells only how many are missing. A process that ends takes its buffer with it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "audit/log.h"
#include "policy/names.h"

namespace cordon::audit {

class Recorder {
 public:
  Recorder(Place place, AuditChoice choice);

  // For a long-lived caller whose ceilings are read anew: what holds from now on.
  void choose(AuditChoice choice);
  // Gets a line for people for each record. Set before the first one.
  using Tell = std::function<void(const std::string& line)>;
  void tell(Tell tell) { tell_ = std::move(tell); }

  // With a key of this process alone while the log cannot be opened.
  Result<Redactor> redactor(const Caller& caller);

  struct Ticket {
    Receipt receipt;
    // Why it is not in the log, if the operator chose to go on without: to be told to the person.
    std::optional<Error> unwritten;
  };
  Result<Ticket> begin(const Pending& pending);
  Result<Ticket> refuse(const Pending& pending, const Closing& closing);
  Result<void> close(const Ticket& ticket, const Closing& closing);
  // What the log does for itself, for when an action was closed and nobody waits for it. An error
  // says nothing about the records: they are there.
  Result<void> keep_up();
  // What dead processes left open; nothing if the log cannot be written.
  Result<std::vector<std::string>> close_lost();

 private:
  struct Kept {
    Log::Stamp stamp;
    Pending pending;
    std::optional<Log::Stamp> ended;
    std::optional<Closing> closing;
    bool refusal = false;
  };
  Result<void> ready();       // the log is open and holds everything that was kept
  Result<void> write_kept();  // as far as it goes
  Result<Ticket> keep(Error why, const Pending& pending, std::optional<Closing> refusal);
  Result<void> close_kept(const std::string& event_id, const Closing& closing);
  Result<void> keep_closing(Error why, const Receipt& receipt, const Closing& closing);

  Place place_;
  AuditChoice choice_;
  Tell tell_;
  std::mutex mutex_;
  std::optional<Log> log_;
  std::optional<Key> own_key_;
  std::deque<Kept> kept_;
  std::uint64_t dropped_ = 0;
  std::int64_t since_us_ = 0;            // of the first record that was not written
  std::map<std::string, Receipt> late_;  // written late and still open
};

}  // namespace cordon::audit
