#include "run/tracked_held.h"

#include <sys/vfs.h>

#include <algorithm>
#include <vector>

#include "base/path.h"
#include "host/git/index.h"
#include "host/inspect.h"
#include "plan/keeping_plan.h"

namespace cordon {
namespace {

// What a Mac or Windows shares with Linux folds case, and the kernel does not know: a file in other
// letters is another name to it, on which no mount lies.
bool has_other_spellings(const Held& held) {
  constexpr long kFuse = 0x65735546;
  constexpr long k9p = 0x01021997;
  struct statfs status {};
  if (::statfs(held.path.c_str(), &status) != 0) return false;
  if (status.f_type != kFuse && status.f_type != k9p) return false;
  std::string name(basename(held.path));
  for (char& c : name) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) c = static_cast<char>(c ^ 0x20);
  }
  const auto seen = inspect_path(join(parent(held.path), name));
  return seen && seen->id == held.id;
}

}  // namespace

void follow_others(const HostFacts& facts, std::span<const OtherRun> others,
                   std::set<std::string>& tracked) {
  const auto follow = [&](const std::string& path, const FileId& id) {
    for (const OtherRun& run : others) {
      const auto covers = [&](const std::string& root) { return contains(root, path); };
      if (std::ranges::none_of(run.writable, covers)) continue;
      if (!run.held.contains(id)) {
        tracked.insert(path);
        return;
      }
      tracked.erase(path);
    }
  };
  for (const Held& held : facts.held)
    if (held.file == FileKind::Regular) follow(held.path, held.id);
  for (const Pinned& pinned : facts.pinned)
    if (pinned.is_protected_link()) follow(pinned.path, pinned.id);
}

std::set<std::string> tracked_held(const HostFacts& facts, const Clamped& clamped,
                                   const Caller& caller) {
  const Effective& effective = clamped.effective();
  std::vector<std::string> files;
  for (const Pinned& pinned : facts.pinned) {
    if (pinned.is_protected_link() && basename(pinned.path) != ".git" &&
        leads_to_kept(pinned, clamped, facts, caller))
      files.push_back(pinned.path);
  }
  const auto is_top = [&](const Held& held) {
    const auto is_it = [&](const Grant& grant) { return grant.path == parent(held.path); };
    return basename(held.path) == ".git" && std::ranges::any_of(effective.write, is_it);
  };
  for (const Held& held : facts.held) {
    // By the pointer of a writable grant itself the next run finds the repository it is to work in.
    if (held.file != FileKind::Regular || is_top(held)) continue;
    if (const auto seen = inspect_path(held.path); seen && seen->links == 1)
      files.push_back(held.path);
  }
  std::set<std::string> tracked;
  if (!files.empty()) tracked = tracked_files(files, effective.write);
  for (const Held& held : facts.held)
    if (held.file == FileKind::Regular && has_other_spellings(held)) tracked.insert(held.path);
  follow_others(facts, other_runs(caller, {}), tracked);
  return tracked;
}

}  // namespace cordon
