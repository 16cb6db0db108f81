// Walking a tree in one fixed order: names of a directory sorted by their bytes, a directory before
// what is in it. Links are shown and never followed; what may not be opened is passed over, and
// told.
#pragma once

#include <sys/stat.h>

#include <functional>
#include <string>
#include <string_view>

namespace cordon::mcp {

class IgnoredNames;

struct WalkBounds {
  std::size_t depth = 64;           // levels below the root
  bool depth_is_asked = false;      // then what lies deeper is not missing
  std::size_t entries = 500'000;    // that are looked at
  std::size_t seconds = 20;         // the sandbox's own clock ends it a little later
  IgnoredNames* ignored = nullptr;  // left out with everything in them; null: nothing is
};

struct WalkedEntry {
  std::string_view path;  // relative to the root
  const struct stat& status;
  int directory;     // of the entry, for as long as it is visited
  const char* name;  // in that directory
};

enum class WalkEnd {
  Complete,
  Stopped,  // by the visitor
  Bounded,  // at one of the bounds
  Partly,   // to the end, but for what could not be entered or lies deeper than the walk goes
};
// Whether there may be more than was visited, other than by the visitor's wish.
constexpr bool is_incomplete(WalkEnd end) {
  return end == WalkEnd::Bounded || end == WalkEnd::Partly;
}

// `visit` answers whether to go on. Everything inside a directory called ".git" is left out. If
// `root` is a file it is the one entry, with an empty path and a directory of -1.
WalkEnd walk_tree(const std::string& root, const WalkBounds& bounds,
                  const std::function<bool(const WalkedEntry&)>& visit, int& failed);

}  // namespace cordon::mcp
