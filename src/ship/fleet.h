// What is asked of the logs of a fleet in the database: actions, sums, and whether the log of each
// node is whole. The database is believed nothing that a node signed or chained otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "audit/fleet_line.h"
#include "audit/index.h"
#include "ship/database.h"

namespace cordon::ship {

struct FleetFilter {
  std::optional<std::int64_t> since_us;
  std::optional<std::int64_t> until_us;
  std::string outcome;  // an outcome or a reason
  bool denied = false;
  std::string tool;
  std::string node;
  std::optional<std::uint64_t> limit;
};

struct FleetEvent {
  std::string node;
  audit::Event event;
};

struct FleetTally {
  std::string node;
  audit::Tally tally;
};

// Newest first.
Answer<std::vector<FleetEvent>> list(Database& database, const FleetFilter& filter);
Answer<std::vector<FleetTally>> tally(Database& database, const FleetFilter& filter);
// The records of the actions, node by node in the order of their numbers, each action with the one
// that ended it: `take` is given one after the other, and ends it by answering false. However many
// there are, few of them are in memory.
Answer<void> each(Database& database, const FleetFilter& filter,
                  const std::function<bool(const audit::FleetLine&)>& take);

struct FleetFinding {
  std::string kind;  // a name of audit::Fault, "fork", "columns" or "unknown-node"
  std::uint64_t seq = 0;
  std::string what;
};

struct NodeVerdict {
  std::string node;
  std::uint64_t records = 0;
  std::uint64_t first_seq = 0;
  std::uint64_t last_seq = 0;
  std::string last_hash;         // hexadecimal
  std::uint64_t signed_seq = 0;  // the last record that a genuine checkpoint names
  std::uint64_t checkpoints = 0;
  std::string last_received;  // a moment; empty without a record
  std::vector<FleetFinding> findings;
  std::vector<std::string> notices;
  [[nodiscard]] bool holds() const { return findings.empty(); }
};

// The nodes that are enrolled, or the one that is named, in the order of their names. `done` is
// told the number of records that were read so far.
Answer<std::vector<NodeVerdict>> verify(Database& database, const std::string& node,
                                        const std::function<void(std::uint64_t)>& done);

}  // namespace cordon::ship
