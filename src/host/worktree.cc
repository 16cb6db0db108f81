#include "host/worktree.h"

#include <fcntl.h>

#include "base/path.h"
#include "host/git_config.h"
#include "host/git_limits.h"
#include "host/look.h"

namespace cordon {
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
