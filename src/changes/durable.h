// Durable: makes files and names that were written last through a power cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "policy/effective.h"

namespace cordon {

// A few files are synced one by one; many by their file system, which costs one flush for all of
// them.
class Durable {
 public:
  void file(int directory, const std::string& name);
  // For the names in it. The descriptor may be closed afterwards.
  void directory(int opened);
  // Of everything since the last call; 0 or errno.
  int sync();

 private:
  std::size_t count_ = 0;
  std::vector<Fd> files_;
  std::vector<Fd> directories_;
  std::set<FileId> directories_seen_;
  std::set<std::uint64_t> systems_seen_;
};

}  // namespace cordon
