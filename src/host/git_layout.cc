#include "host/git_layout.h"

#include <fcntl.h>

#include "base/path.h"
#include "host/look.h"

namespace cordon {
namespace {

constexpr int kList = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
constexpr std::size_t kPointerLimit = 8192;

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
    const Fd fd = open_beneath(directory_, path, kList);
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

std::string absolute(std::string_view written, std::string_view base, const Caller& caller) {
  if (written.starts_with("~/")) return normalize(join(caller.home, written.substr(2)));
  if (written.starts_with('/')) return normalize(written);
  return normalize(join(base, written));
}

}  // namespace

bool looks_like_git_directory(const DirectoryNames& names) {
  bool head = false;
  bool objects = false;
  bool refs = false;
  bool commondir = false;
  for (const DirectoryEntry& entry : names.entries()) {
    head |= entry.name == "HEAD";
    objects |= entry.name == "objects";
    refs |= entry.name == "refs";
    commondir |= entry.name == "commondir";
  }
  return head && (commondir || (objects && refs));
}

GitLayout read_git_layout(int directory, std::string_view path) {
  const bool worktree =
      basename(parent(path)) == "worktrees" && look(directory, "commondir").has_value();
  return LayoutReader(directory).run(worktree ? GitRole::Worktree : GitRole::Main);
}

std::vector<std::string> referenced_paths(std::span<const GitSetting> settings,
                                          std::string_view config_directory,
                                          std::string_view worktree, const Caller& caller) {
  std::vector<std::string> result;
  for (const GitSetting& setting : settings) {
    if (!setting.value || setting.value->empty()) continue;
    const bool include =
        (setting.section == "include" || setting.section == "includeif") && setting.key == "path";
    if (include) result.push_back(absolute(*setting.value, config_directory, caller));
    const bool hooks = setting.section == "core" && setting.key == "hookspath";
    if (hooks) result.push_back(absolute(*setting.value, worktree, caller));
  }
  return result;
}

std::string worktree_of(int directory, std::string_view path, GitRole role,
                        std::span<const GitSetting> settings) {
  switch (role) {
    case GitRole::Worktree:
      if (const auto pointer = read_regular(directory, "gitdir", kPointerLimit)) {
        std::string_view text = *pointer;
        while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
        const std::string file =
            text.starts_with('/') ? normalize(text) : normalize(join(path, text));
        return std::string(parent(file));
      }
      break;
    case GitRole::Main:
    case GitRole::Module:
      if (const auto named = last_value(settings, "core", "", "worktree"))
        return named->starts_with('/') ? normalize(*named) : normalize(join(path, *named));
      break;
  }
  return basename(path) == ".git" ? std::string(parent(path)) : std::string(path);
}

}  // namespace cordon
