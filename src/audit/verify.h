// verify: reads the whole log and finds what was done to it. It believes nothing but the files: not
// the index, and the head only as far as its key goes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audit/log.h"

namespace cordon::audit {

enum class Fault {
  Edit,          // a record is not what was written
  Removal,       // records are missing before this place
  Reorder,       // a record stands at another place
  Duplication,   // a record stands there twice
  Truncation,    // records or a part of one are missing at the end
  HeadMismatch,  // audit/head is missing, foreign or older than the log
  Checkpoint,    // a checkpoint is not genuine, or the log does not agree with it
  Pairing,       // an action was closed twice, or never begun
};
std::string_view name_of(Fault fault);

struct Finding {
  Fault fault = Fault::Edit;
  std::string file;
  std::uint64_t line = 0;
  std::uint64_t seq = 0;
  std::string what;
};

struct DayEnd {
  std::string day;
  Link last;
  std::uint64_t records = 0;
};

struct Verification {
  std::uint64_t records = 0;
  std::uint64_t first_seq = 0;
  Link last;
  std::vector<DayEnd> days;
  std::uint64_t open = 0;  // actions without a closing record
  std::uint64_t checkpoints = 0;
  std::vector<Finding> findings;
  std::vector<std::string> notices;  // what a crash or a power cut explains
  [[nodiscard]] bool holds() const { return findings.empty(); }
};

// Called now and then with the bytes that were read and those that there are.
using Progress = std::function<void(std::uint64_t, std::uint64_t)>;

// An error only if the log cannot be read at all.
Result<Verification> verify(const Place& place, const Progress& progress);

// The same for these days alone, and that the day behind them goes on where they end: what must be
// known before they may go. Nothing if they are no longer the oldest of several: another process
// removes days at this moment. Nothing is said about the end of the log.
Result<std::optional<Verification>> verify_oldest(const Place& place,
                                                  const std::vector<std::string>& days);

// Signs the end of a log that holds, and keeps the checkpoint in the log's directory. Answers with
// the line, to be kept elsewhere.
Result<std::string> sign_checkpoint(const Place& place, const Verification& verified);

}  // namespace cordon::audit
