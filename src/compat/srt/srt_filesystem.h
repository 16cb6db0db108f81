// The path lists of sandbox-runtime. There a path may be read unless it is denied, and a path that
// is opened again inside a denied one may be read too; a policy has no exceptions from a deny, so
// such a denied path is left out of what is granted instead.
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
Result<void> read_srt_filesystem(const Section& top, const Places& places, ForeignTables& tables,
                                 Policy& policy);

}  // namespace cordon
