#include "host/git_above.h"

#include <fcntl.h>

#include "base/path.h"
#include "host/git_metadata.h"
#include "host/look.h"
#include "host/worktree.h"

namespace cordon {
namespace {

// The git directories that decide for a working tree whose top is `directory`; none if it is no
// such top.
std::vector<std::string> git_directories_of(const std::string& directory, const Caller& caller) {
  const std::string name = join(directory, ".git");
  const auto seen = look_path(name);
  if (!seen) return {};
  if (seen->kind == FileKind::Directory) return {name};
  std::vector<std::string> found;
  if (const auto pointer = follow_git_file(directory, caller))
    for (const Canonical& place : pointer->directories) found.push_back(place.path);
  return found;
}

}  // namespace

std::vector<std::string> referenced_above(const std::string& directory, const Caller& caller,
                                          const UserGit& user) {
  std::vector<std::string> referenced;
  for (std::string_view above = directory; above != "/";) {
    above = parent(above);
    const std::vector<std::string> found = git_directories_of(std::string(above), caller);
    for (const std::string& path : found) {
      const Fd git = open_canonical(path, O_RDONLY | O_DIRECTORY);
      if (!git.valid()) continue;
      TreeSnapshot unused;
      GitFindings findings = describe_git_directory(git.get(), path, caller, user.settings, unused);
      referenced.insert(referenced.end(), findings.referenced.begin(), findings.referenced.end());
    }
    if (!found.empty()) break;
  }
  return referenced;
}

}  // namespace cordon
