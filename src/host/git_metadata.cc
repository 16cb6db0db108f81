#include "host/git_metadata.h"

#include <fcntl.h>

#include <algorithm>

#include "base/path.h"
#include "host/git_files.h"
#include "host/git_limits.h"
#include "host/look.h"
#include "host/snapshot.h"
#include "host/which_stays.h"

namespace cordon {
namespace {

class GitDescription {
 public:
  GitDescription(int directory, const std::string& path, TreeSnapshot& snapshot)
      : directory_(directory), path_(path), snapshot_(snapshot) {}

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
    found_.parts.push_back({path, part.role});
    for (const char* name : {"hooks", "commondir", "gitdir"}) hold(fd.get(), path, name);
    for (const char* name : {"config", "config.worktree"}) copy(fd.get(), path, name);
    for (const GitFile& file : git_files())
      if (const auto seen = look(fd.get(), std::string(file.path))) remember(*seen);
    for (const std::string_view name : kAddressDirectories)
      if (has_entries(fd.get(), std::string(name))) hold(fd.get(), path, std::string(name).c_str());
  }

  // Templates make them empty, in every repository.
  static bool has_entries(int fd, const std::string& name) {
    const Fd place = open_beneath(fd, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    if (!place.valid()) return false;
    DirectoryNames names;
    names.read(place.get());
    return !names.entries().empty();
  }

  void remember(const Looked& seen) {
    snapshot_.loose_objects[seen.id] = {seen.kind, seen.changed_ns};
  }

  void hold(int fd, const std::string& path, const char* name) {
    const auto seen = look(fd, name);
    if (!seen) return;
    if (seen->symlink) {
      found_.links.push_back(join(path, name));
      remember(*seen);
      return;
    }
    found_.directory.held.push_back({join(path, name), HoldKind::Git, seen->kind, seen->id});
    snapshot_.protected_objects.insert(*seen);
  }

  void copy(int fd, const std::string& path, const char* name) {
    const auto seen = look(fd, name);
    if (!seen) return;
    const auto content = read_regular(fd, name, kGitConfigLimit);
    // What cannot be copied is held instead: a link, a FIFO, an unreadable or huge file.
    if (!content) return hold(fd, path, name);
    found_.directory.configs.push_back({join(path, name), seen->id, *content});
    snapshot_.protected_objects.insert(*seen);
    const auto parsed = parse_git_config(*content);
    if (!parsed) return;
    for (const GitSetting& setting : *parsed) {
      if (!is_harmless(setting) || leads_somewhere(setting))
        snapshot_.git_settings.insert(digest_of(join(path, name), setting));
      if (!setting.subsection.empty())
        snapshot_.git_settings.insert(digest_of_section(join(path, name), setting));
    }
  }

  int directory_;
  const std::string& path_;
  TreeSnapshot& snapshot_;
  GitFindings found_;
};

}  // namespace

GitFindings describe_git_directory(int directory, const std::string& path, TreeSnapshot& snapshot) {
  return GitDescription(directory, path, snapshot).run();
}

}  // namespace cordon
