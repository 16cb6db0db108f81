#include "host/root_place.h"

#include <fcntl.h>

#include "base/path.h"
#include "host/classify.h"
#include "host/look.h"
#include "policy/protected_names.h"

namespace cordon {

bool is_git_directory(int directory) {
  const auto there = [&](const char* name) { return look(directory, name).has_value(); };
  if (there("HEAD")) return there("commondir") || (there("objects") && there("refs"));
  // What linked worktrees share needs no HEAD of its own.
  return there("worktrees") && there("objects") && there("refs");
}

bool is_fan_out(const WalkedDirectory& storage, const DirectoryEntry& entry, const Looked& seen) {
  constexpr std::string_view kHex = "0123456789abcdef";
  return (storage.state() & walk_state::kGit) != 0 && storage.name() == "objects" &&
         entry.name.size() == 2 && entry.name.find_first_not_of(kHex) == std::string_view::npos &&
         seen.kind == FileKind::Directory && seen.links == 2;
}

bool lies_in_git_directory(const std::string& root) {
  for (std::string_view at = root; at != "/"; at = parent(at)) {
    const std::string here(at);
    if (here != root && basename(at) == ".git") return true;
    if (look_path(join(here, ".git"))) return false;
  }
  return false;
}

WalkedDirectory::State state_of_root(const std::string& root) {
  WalkedDirectory::State state = 0;
  std::string_view above = "/";
  for (const std::string_view part : components(root)) {
    if (is_package_directory(part)) state |= walk_state::kPackage;
    const ProtectedName* name = find_protected(basename(above), part);
    if (name != nullptr && name->kind == HoldKind::Build) state |= walk_state::kReported;
    above = std::string_view(root).substr(0, static_cast<std::size_t>(part.end() - root.data()));
  }
  return state;
}

}  // namespace cordon
