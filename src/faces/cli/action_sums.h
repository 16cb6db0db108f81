// Sums over recorded actions, by how they ended, by what asked for them and by day: the answer of
// `cordon audit stats`, wherever the actions stand.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "audit/index.h"
#include "config/node.h"

namespace cordon {

struct ActionSum {
  std::uint64_t count = 0;
  std::uint64_t failures = 0;
  std::uint64_t denials = 0;
  std::uint64_t refusals = 0;
  std::uint64_t limits = 0;  // ended by the wall clock or another limit
  std::uint64_t duration_ms = 0;
  void add(const audit::Tally& tally);
  void add(const ActionSum& other);
};
Node sum_node(const ActionSum& sum);  // as it stands in cordon.audit-stats/1

struct ActionSums {
  using Rows = std::map<std::string, ActionSum>;
  ActionSum all;
  Rows outcomes;
  Rows tools;
  Rows days;
  // By node; nothing where the actions of one log are summed up.
  std::optional<Rows> nodes;

  void add(const audit::Tally& tally);
  void add(const std::string& node, const audit::Tally& tally);
};

std::string sums_text(const ActionSums& sums);  // tables
std::string sums_json(const ActionSums& sums);  // cordon.audit-stats/1

}  // namespace cordon
