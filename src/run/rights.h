// Rights: what the owner and the mode of a file of the host, and the file system it lies on, let
// the command do with it. A sandbox grants nothing beyond that, and takes root's powers away: root
// inside reads no file of another user that is closed to others.
#pragma once

#include <string>

#include "base/result.h"
#include "host/owner.h"

namespace cordon {

struct Rights {
  int error = 0;   // 0: it may; else what the kernel answers
  std::string at;  // what refuses: the object itself, or a directory on the way to it
};

// `root` is where the mount begins that shows `path`, which lies at or below it; both canonical.
// The way to `root` itself does not count: a mount needs none. `mode` is R_OK, W_OK or X_OK, or
// several of them. `as` is who the command runs as. The kernel is asked, as that user and without
// powers; nothing is opened for use and nothing is changed.
Result<Rights> rights_to(const std::string& root, const std::string& path, int mode,
                         const Owner& as);

}  // namespace cordon
