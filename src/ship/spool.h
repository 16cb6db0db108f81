// Spool: the audit log of this host as what is still to be copied. The log itself is the queue: it
// is there already, it is durable, and whoever writes it never waits for a database. How far it was
// copied stands in a small file that is written behind each acknowledgement; a crash in between
// copies some records again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "audit/files.h"
#include "audit/log.h"
#include "base/fd.h"
#include "base/result.h"
#include "ship/shipped.h"

namespace cordon::ship {

// Behind which record the next one is to be copied.
struct Position {
  std::string day;                // empty: from the beginning
  std::uint64_t line_start = 0;   // of the last line that was copied
  std::uint64_t offset = 0;       // behind it
  std::uint64_t seq = 0;          // its number
  std::string digest;             // SHA-256 of its bytes
  std::uint64_t signed_seq = 0;   // up to which the end was signed for this target
  std::uint64_t checkpoints = 0;  // bytes of checkpoints.jsonl that were copied
  bool operator==(const Position&) const = default;
};

// What goes together.
struct Batch {
  std::vector<Shipped> records;
  std::size_t bytes = 0;  // of their lines
  std::vector<std::string> checkpoints;
  Position behind;  // where the next one begins
  [[nodiscard]] bool empty() const { return records.empty() && checkpoints.empty(); }
};

// How much one batch holds.
struct BatchBounds {
  std::size_t records = 0;
  std::size_t bytes = 0;  // of lines; the last one may go past it
};

class Spool {
 public:
  // Of the log in `place`, for one target. An error if another process copies to the same one. The
  // errno of the error is ENOENT if there is no log.
  static Result<Spool> open(const audit::Place& place, const std::string& state_directory,
                            const std::string& target, audit::IfAbsent absent);

  // Where the last commit ended. `Position{}` if there is no such file, or if it does not fit the
  // log.
  [[nodiscard]] const Position& position() const { return position_; }
  // Why everything is copied again, if a position did not fit.
  [[nodiscard]] const std::string& restarted() const { return restarted_; }

  // The next records, within the bounds, and signed checkpoints about what was copied.
  // Everything in it is durable here: what a power cut may still take back must not be stored
  // anywhere else, or the log would go on differently.
  Result<Batch> next(BatchBounds bounds);
  // Behind the commit of that batch.
  Result<void> committed(const Batch& batch);
  // Behind the commit of a checkpoint about the last record.
  Result<void> end_signed();

  // The last record that was copied, for a checkpoint; nothing if it is no record.
  [[nodiscard]] std::optional<audit::Link> last() const;
  [[nodiscard]] const std::string& directory() const { return place_.directory; }

 private:
  Spool(audit::Place place, Fd log, Fd places, Fd lock, std::string name)
      : place_(std::move(place)),
        log_(std::move(log)),
        places_(std::move(places)),
        lock_(std::move(lock)),
        name_(std::move(name)) {}
  void find_position();
  [[nodiscard]] std::string why_it_does_not_fit(const Position& read) const;
  Result<void> read_day(const std::string& day, BatchBounds bounds, Batch& batch) const;
  Result<void> read_checkpoints(Batch& batch) const;
  Result<void> write_position() const;

  audit::Place place_;
  Fd log_;
  Fd places_;  // the directory of positions
  Fd lock_;
  std::string name_;
  Position position_;
  std::string restarted_;
};

// The key that signs the checkpoints of this log, made if there is none yet.
Result<audit::Key> signing_key(const audit::Place& place);

}  // namespace cordon::ship
