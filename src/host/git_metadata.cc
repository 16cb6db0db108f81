#include "host/git_metadata.h"

#include <fcntl.h>

#include "base/path.h"
#include "host/look.h"
#include "host/snapshot.h"

namespace cordon {
namespace {

constexpr std::size_t kConfigLimit = std::size_t{1024} * 1024;

class GitDescription {
 public:
  GitDescription(int directory, const std::string& path, const Caller& caller,
                 std::span<const GitSetting> user, TreeSnapshot& snapshot)
      : directory_(directory), path_(path), caller_(caller), user_(user), snapshot_(snapshot) {}

  GitFindings run() {
    found_.directory.path = path_;
    const GitLayout layout = read_git_layout(directory_, path_);
    std::vector<std::string> pinned = layout.containers;
    for (const GitPart& part : layout.parts) pinned.push_back(part.path);
    std::sort(pinned.begin(), pinned.end());  // parents first: a mount hides earlier ones below it
    for (const std::string& part : pinned) pin(part);
    for (const GitPart& part : layout.parts) describe(part);
    return std::move(found_);
  }

 private:
  void pin(const std::string& part) {
    const Fd fd = open_beneath(directory_, part, O_PATH | O_DIRECTORY);
    const auto seen = fd.valid() ? look(fd.get()) : std::nullopt;
    if (!seen) return;
    if (part.empty()) found_.directory.id = seen->id;
    found_.directory.pinned.push_back(
        {join(path_, part), HoldKind::Git, FileKind::Directory, seen->id});
    snapshot_.protected_objects.insert(*seen);
  }

  void describe(const GitPart& part) {
    const Fd fd = open_beneath(directory_, part.path, O_RDONLY | O_DIRECTORY);
    if (!fd.valid()) return;
    const std::string path = join(path_, part.path);
    snapshot_.git_directories.insert(path);
    for (const char* name : {"hooks", "commondir", "gitdir"}) hold(fd.get(), path, name);
    std::vector<GitSetting> settings;
    for (const char* name : {"config", "config.worktree"}) copy(fd.get(), path, name, settings);
    for (const char* name : kTodoFiles)
      if (const auto seen = look(fd.get(), name))
        snapshot_.loose_objects[seen->id] = {seen->kind, seen->changed_ns};
    const std::string worktree = worktree_of(fd.get(), path, part.role, settings);
    for (std::string& target : referenced_paths(settings, path, worktree, caller_))
      found_.referenced.push_back(std::move(target));
    if (const auto hooks = last_value(user_, "core", "", "hookspath")) {
      const GitSetting setting{"core", "", "hookspath", hooks};
      for (std::string& target : referenced_paths({&setting, 1}, path, worktree, caller_))
        found_.referenced.push_back(std::move(target));
    }
  }

  void hold(int fd, const std::string& path, const char* name) {
    const auto seen = look(fd, name);
    if (!seen) return;
    if (seen->symlink) {
      found_.links.push_back(join(path, name));
      snapshot_.loose_objects[seen->id] = {seen->kind, seen->changed_ns};
      return;
    }
    found_.directory.held.push_back({join(path, name), HoldKind::Git, seen->kind, seen->id});
    snapshot_.protected_objects.insert(*seen);
  }

  void copy(int fd, const std::string& path, const char* name, std::vector<GitSetting>& settings) {
    const auto seen = look(fd, name);
    if (!seen) return;
    const auto content = read_regular(fd, name, kConfigLimit);
    // What cannot be copied is held instead: a link, a FIFO, an unreadable or huge file.
    if (!content) return hold(fd, path, name);
    found_.directory.configs.push_back({join(path, name), seen->id, *content});
    snapshot_.protected_objects.insert(*seen);
    auto parsed = parse_git_config(*content);
    if (!parsed) return;
    for (const GitSetting& setting : *parsed)
      if (!is_harmless(setting))
        snapshot_.git_settings.insert(digest_of(join(path, name), setting));
    settings.insert(settings.end(), parsed->begin(), parsed->end());
  }

  int directory_;
  const std::string& path_;
  const Caller& caller_;
  std::span<const GitSetting> user_;
  TreeSnapshot& snapshot_;
  GitFindings found_;
};

}  // namespace

GitFindings describe_git_directory(int directory, const std::string& path, const Caller& caller,
                                   std::span<const GitSetting> user, TreeSnapshot& snapshot) {
  return GitDescription(directory, path, caller, user, snapshot).run();
}

}  // namespace cordon
