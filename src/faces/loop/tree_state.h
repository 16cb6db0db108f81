// TreeState: what a project holds, by names, sizes and times of change: whether an attempt changed
// anything, and what. What git keeps for itself is left out, since looking at a repository changes
// it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace cordon::loop {

class TreeState {
 public:
  static Result<TreeState> of(const std::string& project);

  bool operator==(const TreeState&) const = default;
  // "added src/x.c", "modified y", "deleted z", in the order of the names. A directory is named
  // only if it holds nothing that is. Whoever else works in the project is in it as well.
  [[nodiscard]] std::vector<std::string> changes_to(const TreeState& later) const;

 private:
  struct Entry {
    bool directory = false;
    std::uint64_t size = 0;
    std::int64_t changed_ns = 0;
    bool operator==(const Entry&) const = default;
  };
  class Collector;

  std::map<std::string, Entry> entries_;  // by path below the project
};

}  // namespace cordon::loop
