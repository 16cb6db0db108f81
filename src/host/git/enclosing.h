// The repository in which the current directory lies, for a run that starts below its top. It is
// looked for as git does, and taken only if nobody else can have put it there: what is found is
// shown to the run and its git directory may be written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "host/resolve.h"

namespace cordon {

struct EnclosingRepository {
  Canonical top;
  // With the top: its git directory, or those that its `.git` file leads to. Empty if it is
  // refused.
  std::vector<Canonical> git;
  std::string refusal;  // why nothing of it is granted, "its .git is a symlink"; empty: it may be
};

// The nearest one at or above the current directory. Nothing if there is none, or if the current
// directory lies in a git directory.
std::optional<EnclosingRepository> find_enclosing_repository(const Caller& caller);

}  // namespace cordon
