#include "host/git_layout.h"

#include <fcntl.h>

#include "base/path.h"
#include "host/look.h"

namespace cordon {
namespace {

class LayoutReader {
 public:
  explicit LayoutReader(int directory) : directory_(directory) {}

  GitLayout run(GitRole role) {
    layout_.parts.push_back({"", role});
    for (std::size_t i = 0; i < layout_.parts.size(); ++i) {
      const GitPart part = layout_.parts[i];
      if (part.role == GitRole::Worktree) continue;
      // The names of a whole listing are gone after the next one.
      const DirectoryNames* names = list(part.path);
      if (names == nullptr) continue;
      const bool modules = has_directory(*names, "modules");
      const bool worktrees = has_directory(*names, "worktrees");
      if (modules) add_modules(join(part.path, "modules"));
      if (worktrees) add_worktrees(join(part.path, "worktrees"));
    }
    return std::move(layout_);
  }

 private:
  static bool has_directory(const DirectoryNames& names, std::string_view name) {
    const DirectoryEntry* entry = names.find(name);
    return entry != nullptr && entry->type == EntryType::Directory;
  }

  const DirectoryNames* list(const std::string& path) {
    const Fd fd = open_beneath(directory_, path, kOpenDirectory);
    if (!fd.valid()) return nullptr;
    names_.read(fd.get());
    return &names_;
  }

  std::vector<std::string> child_directories() const {
    std::vector<std::string> result;
    for (const DirectoryEntry& entry : names_.entries())
      if (entry.type == EntryType::Directory) result.emplace_back(entry.name);
    return result;
  }

  // Names of submodules may hold slashes, so there can be plain directories in between.
  void add_modules(const std::string& top) {
    std::vector<std::string> todo = {top};
    while (!todo.empty()) {
      const std::string path = std::move(todo.back());
      todo.pop_back();
      if (list(path) == nullptr) continue;
      if (path != top && looks_like_git_directory(names_)) {
        layout_.parts.push_back({path, GitRole::Module});
        continue;
      }
      layout_.containers.push_back(path);
      for (const std::string& name : child_directories()) todo.push_back(join(path, name));
    }
  }

  void add_worktrees(const std::string& top) {
    if (list(top) == nullptr) return;
    layout_.containers.push_back(top);
    for (const std::string& name : child_directories())
      layout_.parts.push_back({join(top, name), GitRole::Worktree});
  }

  int directory_;
  DirectoryNames names_;
  GitLayout layout_;
};

}  // namespace

bool looks_like_git_directory(const DirectoryNames& names) {
  bool head = false;
  bool objects = false;
  bool refs = false;
  bool commondir = false;
  bool worktrees = false;
  for (const DirectoryEntry& entry : names.entries()) {
    head |= entry.name == "HEAD";
    objects |= entry.name == "objects";
    refs |= entry.name == "refs";
    commondir |= entry.name == "commondir";
    worktrees |= entry.name == "worktrees";
  }
  return (head && commondir) || (objects && refs && (head || worktrees));
}

GitLayout read_git_layout(int directory, std::string_view path) {
  const bool worktree =
      basename(parent(path)) == "worktrees" && look(directory, "commondir").has_value();
  return LayoutReader(directory).run(worktree ? GitRole::Worktree : GitRole::Main);
}

bool is_git_directory(const std::string& path) {
  const auto has = [&](std::string_view name) { return look_path(join(path, name)).has_value(); };
  if (has("HEAD")) return has("commondir") || (has("objects") && has("refs"));
  return has("worktrees") && has("objects") && has("refs");
}

std::vector<std::string> git_directories_above(std::string_view path) {
  std::vector<std::string> found;
  for (; path != "/"; path = parent(path))
    if (is_git_directory(std::string(path))) found.emplace_back(path);
  return found;
}

}  // namespace cordon
