// Index: the log as a database for questions, in audit/index.sqlite. It follows the files by byte
// offset, is thrown away and made anew whenever it does not fit them, and proves nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audit/sqlite.h"
#include "audit/verify.h"

namespace cordon::audit {

// One action: its pending and its closing record, as far as they are there.
struct Event {
  std::uint64_t seq = 0;  // of its first record
  std::string event_id;
  std::int64_t begun_us = 0;
  std::optional<std::int64_t> ended_us;
  std::string action;
  std::string tool;
  std::string resource;
  std::string cwd;
  std::string outcome;
  std::string reason;
  std::string backend;
  std::optional<std::int64_t> exit_code;
  std::string signal;
  std::optional<std::int64_t> duration_ms;
  std::int64_t denials = 0;
  std::string error_kind;
};

// Runs of Cordon's own (`is_own_action`).
enum class OwnRuns { With, Without, Alone };

struct Filter {
  std::optional<std::int64_t> since_us;
  std::optional<std::int64_t> until_us;
  std::string outcome;  // an outcome or a reason
  bool denied = false;  // refused as a whole, or something inside was
  std::string tool;
  bool in_session = false;     // in any
  std::string session;         // in the one with this id
  std::string agent;           // as the log has it
  bool without_agent = false;  // what no agent's session did
  std::string path;            // a label, or the "#..." of one
  OwnRuns own = OwnRuns::With;
  std::optional<std::uint64_t> limit;
};

struct Tally {
  std::string day;
  std::string tool;  // or the action, if no tool asked
  std::string outcome;
  std::string reason;
  std::uint64_t count = 0;
  std::uint64_t duration_ms = 0;
  std::uint64_t denials = 0;
};

// Where the lines of an action stand.
struct Lines {
  std::string pending;  // as in the file; empty if there is none
  std::string closing;
};

// Whatever is wrong with it, it is made anew: one error says enough.
Error unusable_index();

class Index {
 public:
  // Opens, and brings it up to date.
  static Result<Index> open(const Place& place, const Progress& progress);
  // In memory, of records in files: of day files and what `audit export` wrote, also of several
  // logs, in any order of the files. A record that stands there twice counts once. Lines that are
  // no records are counted in `strange`; an error if there is nothing else. Only lists and sums can
  // be asked for: numbers are not those of the records.
  static Result<Index> of_files(std::span<const std::string> files, std::uint64_t& strange,
                                const Progress& progress);

  [[nodiscard]] Result<std::vector<Event>> list(const Filter& filter) const;  // newest first
  // Oldest first (with a limit: of the newest), one at a time; stops when `take` answers false.
  Result<void> each(const Filter& filter, const std::function<bool(const Event&)>& take) const;
  [[nodiscard]] Result<std::vector<Tally>> tally(const Filter& filter) const;
  // By event id, a beginning of one that is unique, or a sequence number.
  [[nodiscard]] Result<std::vector<Event>> find(const std::string& id) const;
  [[nodiscard]] Result<Lines> lines(const Event& event) const;

 private:
  Index(Fd directory, Database database)
      : directory_(std::move(directory)), database_(std::move(database)) {}
  static Result<Index> open_as(const Place& place, const std::string& path,
                               const Progress& progress);
  bool prepare_tables();
  bool fits() const;
  bool forget_before(const std::string& oldest_day);
  Result<void> update(const Progress& progress);

  Fd directory_;
  Database database_;
};

}  // namespace cordon::audit
