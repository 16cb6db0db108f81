// Other names of a protected file inside the grants. A mask or a hold covers one name; a hard link
// made earlier would reach the same object by another.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cordon/result.h"
#include "host/grant_paths.h"
#include "policy/effective.h"

namespace cordon {

struct OtherName {
  std::string path;
  FileId id;
};

// Walks `roots` once, comparing inode numbers of directory entries; only matches are examined.
Result<std::vector<OtherName>> find_other_names(const std::vector<const Grant*>& roots,
                                                const std::map<FileId, std::string>& objects);

}  // namespace cordon
