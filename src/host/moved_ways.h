// Directories that a run has moved: found again by their identity anywhere in its writable trees.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "policy/effective.h"

namespace cordon {

struct MovedWay {
  std::string path;  // where it was
  FileId id;
  Fd directory;      // in which it is now
  std::string name;  // as what
};

// At most 64, outer ones first by where they were: whoever moves more gets what is protected in
// them back by itself.
std::vector<MovedWay> find_moved_ways(std::span<const std::string> roots,
                                      const std::map<FileId, std::string>& moved);

}  // namespace cordon
