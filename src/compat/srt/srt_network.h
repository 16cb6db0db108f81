// The domains of sandbox-runtime: what may be reached, and what may not. What its proxies do
// between the command and the network is refused.
#pragma once

#include "compat/dialect/foreign_table.h"

namespace cordon {

Result<void> read_srt_network(const Section& top, ForeignTables& tables, NetRules& net_rules);

}  // namespace cordon
