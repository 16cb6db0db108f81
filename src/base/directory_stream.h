// DirectoryStream: an open list of names (readdir) that closes itself.
#pragma once

#include <dirent.h>

#include <memory>

namespace cordon {

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};
using DirectoryStream = std::unique_ptr<DIR, CloseDirectory>;

}  // namespace cordon
