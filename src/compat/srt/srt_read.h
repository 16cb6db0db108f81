// The parts of the reader of sandbox-runtime's settings.
#pragma once

#include "compat/dialect/foreign_table.h"

namespace cordon {

struct SrtEntry {
  std::string path;  // absolute, or a pattern that begins with an absolute path
  bool pattern = false;
  const Node* node = nullptr;
};

// One entry of a path list: a string, or a table with "path" and "literal".
Result<SrtEntry> read_srt_entry(const Section& table, const Node& node, const Places& places,
                                ForeignTables& tables);
Result<void> read_srt_network(const Section& top, ForeignTables& tables, NetRules& net_rules);
Result<void> read_srt_filesystem(const Section& top, const Places& places, ForeignTables& tables,
                                 Policy& policy);

// The largest paths below `roots` that hold none of `closed`, without `closed` themselves. All are
// canonical. A root that holds nothing closed is its own answer; any other one is written out as
// what lies beside the closed paths now.
Result<std::vector<std::string>> readable_beside(const std::vector<std::string>& roots,
                                                 const std::vector<std::string>& closed,
                                                 const Places& places);

}  // namespace cordon
