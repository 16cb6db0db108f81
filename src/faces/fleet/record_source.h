// The records that a report is made of: of a file that `cordon audit export` wrote, or of a
// database, which cordon-ship asks.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "audit/decode_line.h"
#include "base/result.h"

namespace cordon {

struct SourcedRecord {
  std::string_view node;
  std::uint64_t seq = 0;
  const audit::Record* record = nullptr;    // null: the database has something else there
  std::optional<std::int64_t> received_us;  // of a database
};
using TakeRecord = std::function<void(const SourcedRecord&)>;

bool is_database(std::string_view from);

// Records without a node of their own are those of `node`. A line that is no record ends it, with
// the place of the line.
Result<void> read_records(const std::string& path, const std::string& node, const TakeRecord& take);

struct DatabaseQuestion {
  std::string url;
  std::string since;  // as typed; empty: from the beginning
  std::string until;
  std::string node;
};
// False if it could not be asked: why was said already, by the program that asks.
Result<bool> ask_database(const DatabaseQuestion& question, const TakeRecord& take);

}  // namespace cordon
