// Grants of directories that need not exist, for tests of what is decided about them, and
// what a list of them names.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "policy/effective.h"

namespace cordon::testing {

inline Grant grant(std::string path) {
  Grant made;
  made.written = path;
  made.lexical = path;
  made.path = std::move(path);
  made.kind = FileKind::Directory;
  return made;
}

inline std::vector<std::string> paths(const std::vector<Grant>& grants) {
  std::vector<std::string> out;
  out.reserve(grants.size());
  for (const Grant& grant : grants) out.push_back(grant.path);
  return out;
}

}  // namespace cordon::testing
