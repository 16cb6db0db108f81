// SearchTurn: the searches after two runs take turns where one of their trees lies in the other's.
//
// A search looks at a file and then acts on it, by name. Its run is dead, so nothing of that run
// can step between; but another search could, with the same files. Seen: one search read a git
// configuration that a living run had just written, and wrote it back, with what it lacked, over
// the clean one that the other search had put there meanwhile. Nobody looked at it again.
//
// Who takes part is decided by objects, not by paths: a turn has each writable root for itself, and
// shares each directory above it. So two searches wait for each other if the trees are one, or one
// lies in the other, whichever way leads there; beside each other they do not. The locks are bytes
// of one file in the state directory, where no run can hold one: a lock on the tree itself could be
// held for ever by whoever writes there.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "policy/effective.h"

namespace cordon {

class SearchTurn {
 public:
  static constexpr std::chrono::seconds kLongestWait{60};

  // Waits until nobody else searches there. An error says that somebody still does, after that
  // time: a search that was stopped, or one in a tree without end.
  static Result<SearchTurn> wait_for(const std::string& state_directory,
                                     std::span<const Grant> writable,
                                     std::chrono::milliseconds longest = kLongestWait);

 private:
  explicit SearchTurn(Fd file) : file_(std::move(file)) {}
  Fd file_;  // closing it ends the turn
};

}  // namespace cordon
