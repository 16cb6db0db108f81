// What appears while the command runs
//
// A mask is a mount, and a mount needs an object to lie on. A credential store that is made on the
// host a second after the start has none, and one that is replaced (git writes ~/.git-credentials
// under another name and renames it) loses its own: the kernel takes a mount away together with the
// name it lies on. In both cases the grant of the directory above would show the new file.
//
// So the directory is not granted as such. It is replaced by one of Cordon's own that has a place
// for each entry of now, and each entry is bound to its place by identity. What is in the entries
// stays live: a file made in ~/src is seen at once. What is new in the directory itself is not
// there inside, whatever its name, and a file that is replaced stays the old one. Only directories
// in which something must not appear are treated so:
//
//   --read ~                  ~ itself, and those of ~/.config, ~/.cargo ... that are there
//   --read /d --deny /d/a/b   /d/a if it is there, and then /d too: nobody is to replace /d/a; else
//   /d
//   --deny '/d/*.key'         /d
//
// Directories above a home are left as they are: a home is not replaced under its owner.
//
// Where the command may write this cannot be done, since it has to see what it makes; nor for a
// pattern that matches at any depth, whose directories are without number. The threat model names
// both.
#include "host/frozen.h"

#include <fcntl.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/fd.h"
#include "base/path.h"
#include "host/credentials.h"
#include "host/inspect.h"
#include "host/resolve.h"
#include "host/walk.h"
#include "host/writable.h"
#include "policy/decide.h"

namespace cordon {
namespace {

class FrozenSearch {
 public:
  FrozenSearch(const Effective& effective, const Caller& caller, const HostFacts& facts)
      : effective_(effective), caller_(caller), facts_(facts), grants_(effective) {}

  // A path that must not be seen, whether it is there or not.
  void add_hidden(const std::string& path) {
    if (!may_matter(path)) return;
    const std::string directory = canonical(parent(path));
    if (directory.empty()) return;
    const std::string place = join(directory, basename(path));
    add_directory_of(place);
    // A link leads to a second place, where the object itself can be replaced, or made.
    const auto seen = inspect_path(place);
    if (!seen || !seen->symlink) return;
    const Result<Canonical> real = canonicalize(place, "/", caller_);
    if (real) add_directory_of(real->path);
  }
  void add_directory_of(const std::string& place) {
    std::string_view up = parent(place);
    while (up != "/" && !is_directory(up)) up = parent(up);
    add(up);
  }

  void describe_all(HostFacts& facts) const {
    for (const std::string& path : directories_) {
      if (auto one = describe(path)) {
        facts.frozen.push_back(*std::move(one));
      } else if (inspect_path(path)) {
        facts.unlisted.push_back(path);
      }
    }
  }

 private:
  // Without looking at the host, for the ordinary run, where no grant comes near.
  [[nodiscard]] bool may_matter(std::string_view path) const {
    return std::ranges::any_of(effective_.read, [&](const Grant& grant) {
      return grant.kind == FileKind::Directory && contains(grant.path, path);
    });
  }

  // Empty if it cannot be told. Many paths lie in one directory.
  const std::string& canonical(std::string_view directory) {
    const auto [at, is_new] = canonical_.try_emplace(std::string(directory));
    if (is_new)
      if (const Result<Canonical> found = canonicalize(directory, "/", caller_))
        at->second = found->path;
    return at->second;
  }

  static bool is_directory(std::string_view path) {
    const auto seen = inspect_path(std::string(path));
    return seen && seen->kind == FileKind::Directory;
  }

  void add(std::string_view directory) {
    if (!added_.emplace(directory).second) return;
    const Grant* shown_by = nullptr;
    for (const Grant& grant : effective_.read)
      if (contains(grant.path, directory) &&
          (shown_by == nullptr || grant.path.size() > shown_by->path.size()))
        shown_by = &grant;
    if (shown_by == nullptr || grants_.is_writable(directory)) return;
    // A grant of "/" leaves out what the sandbox has of its own.
    if (!shows(shown_by->path, directory, facts_)) return;
    for (std::string_view up = directory; up != "/" && contains(shown_by->path, up);
         up = parent(up)) {
      const auto above_home = [&](const std::string& home) {
        return home != up && contains(up, home);
      };
      if (std::ranges::any_of(caller_.homes, above_home)) return;
      const auto hides = [&](const Masked& mask) { return contains(mask.path, up); };
      if (!std::ranges::any_of(facts_.masked, hides)) directories_.emplace(up);
    }
  }

  static std::optional<Frozen> describe(const std::string& path) {
    const Fd fd = open_canonical(path, O_RDONLY | O_DIRECTORY);
    DirectoryNames names;
    // One that may be searched and not listed stays as it is: nobody could say what is in it. The
    // loss `appearing` names it.
    if (!fd.valid() || !names.read(fd.get())) return std::nullopt;
    const auto directory = inspect_fd(fd.get());
    if (!directory) return std::nullopt;
    Frozen frozen{path, directory->id, {}};
    for (const DirectoryEntry& entry : names.entries()) {
      std::string name(entry.name);
      const auto seen = inspect_name(fd.get(), name);
      if (!seen) continue;
      std::string target;
      if (seen->symlink) target = read_link(fd.get(), name).value_or("");
      if (seen->symlink && target.empty()) continue;
      frozen.entries.push_back({std::move(name), seen->kind, seen->id, std::move(target)});
    }
    std::ranges::sort(frozen.entries);
    return frozen;
  }

  const Effective& effective_;
  const Caller& caller_;
  const HostFacts& facts_;
  GrantPaths grants_;
  std::map<std::string, std::string> canonical_;
  std::set<std::string> added_;
  std::set<std::string> directories_;
};

}  // namespace

void find_frozen(const Effective& effective, const Caller& caller, HostFacts& facts) {
  FrozenSearch search(effective, caller, facts);
  for (const std::string& place : store_places(caller)) search.add_hidden(place);
  for (const std::string* own :
       {&caller.config_directory, &caller.state_directory, &caller.runtime_directory})
    if (!own->empty()) search.add_hidden(*own);
  for (const DenyGlob& rule : effective.deny) {
    if (rule.anchor.empty() || rule.anchor == "/") continue;
    if (rule.pattern.empty()) {
      search.add_hidden(rule.anchor);
    } else if (rule.pattern.find('/') == std::string::npos && rule.pattern != "**") {
      search.add_directory_of(join(rule.anchor, rule.pattern));
    }
  }
  search.describe_all(facts);
}

}  // namespace cordon
