// Which arguments of a system call are paths, and what the call does with the file behind each.
// The table names every call that the filter lets through and that takes a path (a test compares
// the two), for both architectures: aarch64 has only those that also take a directory.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace cordon::sys {

enum class PathUse : std::uint8_t {
  Look,        // whether it is there, what it is, what its attributes say
  LookAtLink,  // the same without following a link at the end
  Open,        // as the flags say
  Ask,         // access: as the mode says
  Execute,
  Change,      // content, mode, owner, times, attributes
  ChangeLink,  // the same without following a link at the end
  Make,        // a name that is not there yet
  Put,         // a name, whether it is there or not: what a rename leads to
  Remove,      // a name that is there
};

inline constexpr int kNoArgument = -1;

struct PathArgument {
  int directory = kNoArgument;  // the descriptor at which a relative path begins; or the caller's
  int path = kNoArgument;
  PathUse use = PathUse::Look;
};

struct PathCall {
  std::string_view name;
  int number = -1;  // on this architecture; -1: it has no such call
  std::array<PathArgument, 2> paths;
  int flags = kNoArgument;  // where AT_SYMLINK_NOFOLLOW may stand; of Open and Ask what is wanted
};

std::span<const PathCall> path_calls();
// Null for a call that takes no path.
const PathCall* find_path_call(int number);

}  // namespace cordon::sys
