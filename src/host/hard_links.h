// Other names of a protected file inside the grants: hard links that were made earlier.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/writable.h"
#include "policy/effective.h"

namespace cordon {

// The files with further names among what is protected: a file itself, and whatever lies in a
// protected directory.
class LinkedFiles {
 public:
  // Refuses when more entries would have to be examined than a start has time for.
  Result<void> add(const std::string& path, FileKind kind);
  // By identity, each with the name it was found under.
  [[nodiscard]] const std::map<FileId, std::string>& objects() const { return objects_; }

 private:
  std::map<FileId, std::string> objects_;
  std::size_t examined_ = 0;
};

struct OtherName {
  std::string path;
  FileId id;
};

// One walk over `roots`.
Result<std::vector<OtherName>> find_other_names(const std::vector<const Grant*>& roots,
                                                const std::map<FileId, std::string>& objects);

}  // namespace cordon
