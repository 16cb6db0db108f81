// Grants of directories that need not exist, for tests of what is decided about them.
#pragma once

#include <string>
#include <utility>

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

}  // namespace cordon::testing
