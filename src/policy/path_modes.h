// PathModes: what a document's read and write lists say about any path. The longest rule decides,
// so a read rule inside a write rule takes the right to write away, and a write rule inside a read
// rule gives it.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "policy/effective.h"

namespace cordon {

enum class PathMode { None, Read, Write };  // strictest first; Write includes reading

struct PathEntry {
  const Grant* grant = nullptr;
  PathMode mode = PathMode::None;
};

// Refers to the grants it was made of.
class PathModes {
 public:
  PathModes(std::span<const Grant> read, std::span<const Grant> write);

  [[nodiscard]] PathMode at(std::string_view path) const;
  // The longest rule that `path` is or lies below; null if there is none.
  [[nodiscard]] const PathEntry* deepest(std::string_view path) const&;
  const PathEntry* deepest(std::string_view path) const&& = delete;  // it would lead nowhere
  // Every rule that counts, by path.
  [[nodiscard]] const std::map<std::string_view, PathEntry>& entries() const { return entries_; }
  // Write rules overruled by a read rule for the same path.
  [[nodiscard]] const std::vector<const Grant*>& conflicts() const { return conflicts_; }

 private:
  std::map<std::string_view, PathEntry> entries_;
  std::vector<const Grant*> conflicts_;
};

// True for what came from "@system" or "@toolchains": it yields to any rule that covers it.
bool is_baseline(const Grant& grant);

}  // namespace cordon
