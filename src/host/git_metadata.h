// What has to be pinned, held and copied so that a contained git can do its ordinary work in a
// repository and yet leave nothing behind that the host's git would run.
#pragma once

#include <string>
#include <vector>

#include "host/git_layout.h"
#include "host/survey.h"

namespace cordon {

struct GitFindings {
  GitDirectory directory;
  std::vector<GitPart> parts;      // by absolute path
  std::vector<std::string> links;  // hooks and configs that are symlinks: their names
};

// Everything that is there is entered into `snapshot`.
GitFindings describe_git_directory(int directory, const std::string& path, TreeSnapshot& snapshot);

}  // namespace cordon
