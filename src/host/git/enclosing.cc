#include "host/git/enclosing.h"

#include <sys/stat.h>

#include "base/path.h"
#include "host/git/layout.h"
#include "host/inspect.h"
#include "host/writable.h"

namespace cordon {
namespace {

std::string refusal_of_top(const std::string& top, const FileInfo& git, const Caller& caller) {
  if (is_no_project(top, caller)) return "it is a home, holds one, or is part of the system";
  if (git.symlink) return "its .git is a symlink";
  if (git.owner != caller.uid) return "its .git belongs to another user";
  const auto seen = inspect_path(top);
  // Whoever may write there can put a .git of the caller's there, by renaming one.
  if (!seen || (seen->mode & S_IWOTH) != 0) return "everybody may write to it";
  return {};
}

// As at the top: a `.git` file has to be named in turn by what it leads to.
std::vector<Canonical> git_of(const std::string& top, const FileInfo& git, const Caller& caller) {
  std::vector<Canonical> found;
  if (git.kind == FileKind::Directory) {
    if (auto place = canonicalize_existing(join(top, ".git"), "/", caller))
      found.push_back(*std::move(place));
  } else if (const auto pointer = follow_git_file(top, caller); pointer && pointer->leads_back) {
    found = pointer->directories;
  }
  std::erase_if(found, [&](const Canonical& place) {
    return refuse_writable(place, place.path, caller) || refuse_granted(place, place.path, caller);
  });
  return found;
}

std::optional<EnclosingRepository> judged(const std::string& top, const FileInfo& git,
                                          const Caller& caller) {
  auto place = canonicalize_existing(top, "/", caller);
  if (!place || place->path != top || refuse_granted(*place, top, caller)) return std::nullopt;
  EnclosingRepository found{*std::move(place), {}, refusal_of_top(top, git, caller)};
  if (!found.refusal.empty()) return found;
  found.git = git_of(top, git, caller);
  if (found.git.empty()) found.refusal = "its .git leads to no git directory that names it in turn";
  return found;
}

}  // namespace

std::optional<EnclosingRepository> find_enclosing_repository(const Caller& caller) {
  const auto start = inspect_path(caller.cwd);
  if (!start) return std::nullopt;
  for (std::string top = caller.cwd;; top = parent(top)) {
    // Nor does git look beyond the file system that it starts in.
    const auto seen = inspect_path(top);
    if (!seen || seen->id.device != start->id.device) return std::nullopt;
    const std::string name = join(top, ".git");
    const auto git = inspect_path(name);
    // git passes over a directory of that name that is no repository.
    if (git && (git->kind != FileKind::Directory || is_git_directory(name)))
      return judged(top, *git, caller);
    if (inspect_path(join(top, "HEAD")) && is_git_directory(top)) return std::nullopt;
    if (top == "/") return std::nullopt;
  }
}

}  // namespace cordon
