// One record of a fleet as a line of JSON: what `cordon audit export --from` writes and `cordon
// fleet report` reads. The record stands in it byte for byte, so that its hash can be checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cordon::audit {

struct FleetLine {
  std::string node;
  std::uint64_t seq = 0;
  std::int64_t received_us = 0;  // when the database took it, by the clock of the database
  std::string record;            // empty: what is stored under that number is no record
};

// With its newline. A record that is not as published is left out: whoever may write as a node
// could otherwise end the line and write as another.
std::string write_fleet_line(const FleetLine& line);
// Whether a line has this form at all, and what it holds; nothing if it is not as it is written
// here.
bool is_fleet_line(std::string_view line);
std::optional<FleetLine> read_fleet_line(std::string_view line);

}  // namespace cordon::audit
