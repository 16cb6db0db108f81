// Copying a file, a symlink or a tree with its permission bits; set-id bits are left out. FIFOs,
// sockets and devices are refused: what is put into a project has content.
#pragma once

#include <optional>
#include <string>

#include "host/owner.h"

namespace cordon {

// 0 or errno; EEXIST if the name is taken. What was copied until a failure is removed. Root gives
// the copy to `owner`.
int exact_copy(int from, const std::string& name, int into, const std::string& as,
               const std::optional<Owner>& owner = {});

}  // namespace cordon
