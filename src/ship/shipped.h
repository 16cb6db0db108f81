// What is copied of one record: its line, and the columns that the database can be asked about.
// Both ends make the columns of a line by the same function, so that the receiver finds those that
// say something else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "audit/decode_line.h"

namespace cordon::ship {

struct Columns {
  std::optional<std::int64_t> at_us;
  std::optional<std::string> phase;
  std::optional<std::int64_t> pending_seq;
  std::optional<std::string> action;
  std::optional<std::string> tool;
  std::optional<std::string> outcome;
  std::optional<std::string> reason;
  std::optional<std::int64_t> denials;
  std::optional<std::int64_t> duration_ms;
  bool operator==(const Columns&) const = default;
};

// All of them absent for a line that is no record (null): it is copied as it is, and verify tells.
Columns columns_of(const audit::Record* record);

struct Shipped {
  std::uint64_t seq = 0;
  std::string line;
  Columns columns;
};

}  // namespace cordon::ship
