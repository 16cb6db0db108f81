#include "host/git/layout.h"

#include <fcntl.h>

#include <algorithm>

#include "base/path.h"
#include "host/git/config.h"
#include "host/git/program_files.h"
#include "host/git/settings.h"
#include "host/inspect.h"
#include "host/snapshot.h"

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
      basename(parent(path)) == "worktrees" && inspect_name(directory, "commondir").has_value();
  return LayoutReader(directory).run(worktree ? GitRole::Worktree : GitRole::Main);
}

bool is_git_directory(const std::string& path) {
  const auto has = [&](std::string_view name) {
    return inspect_path(join(path, name)).has_value();
  };
  if (has("HEAD")) return has("commondir") || (has("objects") && has("refs"));
  return has("worktrees") && has("objects") && has("refs");
}

std::vector<std::string> git_directories_above(std::string_view path) {
  std::vector<std::string> found;
  for (; path != "/"; path = parent(path))
    if (is_git_directory(std::string(path))) found.emplace_back(path);
  return found;
}

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
    const auto seen = fd.valid() ? inspect_fd(fd.get()) : std::nullopt;
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
      if (const auto seen = inspect_name(fd.get(), std::string(file.path))) remember(*seen);
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

  void remember(const FileInfo& seen) {
    snapshot_.loose_objects[seen.id] = {seen.kind, seen.changed_ns};
  }

  void hold(int fd, const std::string& path, const char* name) {
    const auto seen = inspect_name(fd, name);
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
    const auto seen = inspect_name(fd, name);
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

namespace {

std::string_view without_line_end(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

bool names(const std::string& text, const std::string& base, const std::string& expected,
           const Caller& caller) {
  const std::string_view path = without_line_end(text);
  if (path.empty() || path.front() == '~' || path.front() == '@') return false;
  const Result<Canonical> found = canonicalize(path, base, caller);
  return found && found->kind != FileKind::Absent && found->path == expected;
}

// A linked worktree's git directory names the `.git` file; a submodule's names the directory.
bool leads_back(int gitdir, const std::string& gitdir_path, const std::string& directory,
                const Caller& caller) {
  if (const auto pointer = read_regular(gitdir, "gitdir", kGitPointerLimit))
    return names(*pointer, gitdir_path, join(directory, ".git"), caller);
  const auto config = read_regular(gitdir, "config", kGitConfigLimit);
  if (!config) return false;
  const auto settings = parse_git_config(*config);
  if (!settings) return false;
  const auto worktree = last_value(*settings, "core", "", "worktree");
  return worktree && names(*worktree, gitdir_path, directory, caller);
}

}  // namespace

std::optional<std::string> parse_git_file(std::string_view text) {
  constexpr std::string_view kPrefix = "gitdir: ";
  if (!text.starts_with(kPrefix)) return std::nullopt;
  const std::string_view path = without_line_end(text.substr(kPrefix.size()));
  if (path.empty() || path.find('\n') != std::string_view::npos ||
      path.find('\0') != std::string_view::npos)
    return std::nullopt;
  return std::string(path);
}

std::string place_of_pointer(std::string_view text, std::string_view directory) {
  text = without_line_end(text);
  std::string_view from = text.starts_with('/') ? "/" : directory;
  for (; text.starts_with("../"); text.remove_prefix(3)) from = parent(from);
  if (text.empty() || has_dotdot(text)) return {};
  return normalize(join(from, text));
}

std::optional<WorktreePointer> follow_git_file(const std::string& directory, const Caller& caller) {
  const auto text = read_regular(AT_FDCWD, join(directory, ".git"), kGitPointerLimit);
  if (!text) return std::nullopt;
  WorktreePointer result;
  const std::optional<std::string> written = parse_git_file(*text);
  if (!written) return std::nullopt;
  result.written = *written;
  // git knows no "~" or "@cwd" here.
  const std::string spelled = written->front() == '/' ? *written : "./" + *written;
  const Result<Canonical> gitdir = canonicalize_existing(spelled, directory, caller);
  if (!gitdir || gitdir->kind != FileKind::Directory) return result;
  if (contains(directory, gitdir->path)) return std::nullopt;
  const Fd fd = open_canonical(gitdir->path, O_RDONLY | O_DIRECTORY);
  if (!fd.valid() || !leads_back(fd.get(), gitdir->path, directory, caller)) return result;
  result.directories.push_back(*gitdir);
  if (const auto common = read_regular(fd.get(), "commondir", kGitPointerLimit)) {
    // Only the directory this gitdir really lies in: another one would be somebody else's.
    const std::string above(parent(parent(gitdir->path)));
    if (basename(parent(gitdir->path)) != "worktrees" ||
        !names(*common, gitdir->path, above, caller))
      return WorktreePointer{result.written, {}, false};
    const Result<Canonical> found = canonicalize_existing(above, "/", caller);
    if (!found) return WorktreePointer{result.written, {}, false};
    result.directories.push_back(*found);
  }
  result.leads_back = true;
  return result;
}

}  // namespace cordon
