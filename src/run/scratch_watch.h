// ScratchWatch: how much the private directories of a run hold on the disk, where no file system of
// their own bounds them. What cannot be looked into, and what was removed while open, is not
// counted: it is a watch, not a bound.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/directory_names.h"

namespace cordon {

class ScratchWatch {
 public:
  explicit ScratchWatch(std::string root) : root_(std::move(root)) {}
  // Bytes of all files below the root, each once.
  std::uint64_t look();

 private:
  std::uint64_t look_at(const std::string& directory, std::vector<std::string>& pending);

  std::string root_;
  DirectoryNames names_;
};

}  // namespace cordon
