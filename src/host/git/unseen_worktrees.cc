#include "host/git/unseen_worktrees.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>

#include "base/fd.h"
#include "base/path.h"
#include "host/git/config.h"
#include "host/git/index.h"
#include "host/git/layout.h"
#include "host/inspect.h"
#include "host/writable.h"

namespace cordon {
namespace {

constexpr std::size_t kMostUnseen = 32;
constexpr std::uint64_t kMostUnseenBytes = std::uint64_t{4} * 1024 * 1024;

// The top of the work tree that an entry belongs to.
std::string top_of(int entry, const std::string& path) {
  const auto pointer = read_regular(entry, "gitdir", kGitPointerLimit);
  const std::string file = pointer ? place_of_pointer(*pointer, path) : std::string();
  return basename(file) == ".git" ? std::string(parent(file)) : std::string();
}

// The git directories that `.git` files in writable grants lead to, whatever the way there is
// called: whoever works in such a work tree needs them live.
std::set<FileId> pointed_to(const HostFacts& facts) {
  std::set<FileId> found;
  for (const Held& held : facts.held) {
    if (held.file != FileKind::Regular || basename(held.path) != ".git") continue;
    const std::string git(parent(git_index_of(std::string(parent(held.path)))));
    struct stat status {};
    if (git.size() > 1 && ::stat(git.c_str(), &status) == 0) found.insert(looked(status).id);
  }
  return found;
}

}  // namespace

void find_unseen_worktrees(const Effective& effective, HostFacts& facts) {
  const auto is_entry = [](const Held& pinned) {
    return basename(parent(pinned.path)) == "worktrees";
  };
  const auto has_entry = [&](const GitDirectory& git) {
    return std::ranges::any_of(git.pinned, is_entry);
  };
  if (std::ranges::none_of(facts.git, has_entry)) return;
  const GrantPaths grants(effective);
  const std::set<FileId> used = pointed_to(facts);
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  for (GitDirectory& git : facts.git) {
    for (const Held& pinned : git.pinned) {
      if (!is_entry(pinned) || used.contains(pinned.id) || grants.covers_grant(pinned.path)) {
        continue;
      }
      const Fd entry = open_canonical(pinned.path, O_PATH | O_DIRECTORY);
      const auto seen = entry.valid() ? inspect_fd(entry.get()) : std::nullopt;
      if (!seen || seen->id != pinned.id) continue;
      const std::string top = top_of(entry.get(), pinned.path);
      if (top.empty()) continue;
      const bool granted = grants.is_granted(top);
      if (granted && inspect_path(join(top, ".git"))) continue;
      const auto index = inspect_name(entry.get(), "index");
      bytes += index ? index->size : 0;
      if (++count > kMostUnseen || bytes > kMostUnseenBytes) return;
      git.unseen.push_back({pinned.path, pinned.id, granted ? top : std::string()});
    }
  }
}

}  // namespace cordon
