#include "host/git/inspection.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/path.h"
#include "base/text.h"
#include "host/git/config.h"
#include "host/git/layout.h"
#include "host/git/program_files.h"
#include "host/git/settings.h"
#include "host/inspect.h"
#include "host/private_file.h"
#include "host/resolve.h"
#include "host/snapshot.h"

namespace cordon {
namespace {

constexpr std::size_t kFileLimit = std::size_t{16} * 1024 * 1024;

std::string_view trimmed_end(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

void GitInspection::inspect(int directory, const std::string& path, FileId id) {
  if (!seen_.insert(id).second) return;
  const GitLayout layout = read_git_layout(directory, path);
  std::vector<std::string> gone;
  for (const GitPart& part : layout.parts) {
    const auto inside = [&](const std::string& moved) { return contains(moved, part.path); };
    if (std::any_of(gone.begin(), gone.end(), inside)) continue;
    // A part that was closed to this look is judged by what can be read of it: nothing.
    const Fd place = open_beneath(directory, part.path, O_PATH | O_DIRECTORY);
    const auto seen = place.valid() ? inspect_fd(place.get()) : std::nullopt;
    if (!seen) continue;
    const Fd fd = open_beneath(directory, part.path, kOpenDirectory);
    seen_.insert(seen->id);
    const std::string full = join(path, part.path);
    const Age age = before_.protected_objects.contains(*seen) ? Age::Old : Age::New;
    const bool leads =
        part.role == GitRole::Main || (fd.valid() && leads_back(fd.get(), full, part.role));
    if (age == Age::New && !leads) {
      const Fd above = open_canonical(std::string(parent(full)), O_PATH | O_DIRECTORY);
      if (above.valid())
        quarantine_.take(above.get(), std::string(basename(full)), full, HoldKind::Git);
      gone.push_back(part.path);
      continue;
    }
    if (!fd.valid()) continue;
    known_.insert(full);
    inspect_part(fd.get(), full, part.role, age);
    (age == Age::Old ? old_references_ : new_references_).add(full, part.role);
  }
}

// A `.git` file that leads to `gitdir`. It may lie outside of what the run could write: then the
// person made it, by `git worktree add` during the run.
bool GitInspection::names_file(const std::string& file, const std::string& gitdir) const {
  const Fd directory = open_canonical(std::string(parent(file)), O_PATH | O_DIRECTORY);
  if (!directory.valid()) return false;
  const auto text = read_regular(directory.get(), std::string(basename(file)), kGitPointerLimit);
  const auto target = text ? parse_git_file(*text) : std::nullopt;
  if (!target) return false;
  const std::string spelled = target->front() == '/' ? *target : "./" + *target;
  const Result<Canonical> found = canonicalize(spelled, parent(file), caller_);
  return found && found->path == gitdir;
}

bool GitInspection::leads_back(int directory, const std::string& path, GitRole role) const {
  std::string written;
  switch (role) {
    case GitRole::Main:
      return true;
    case GitRole::Worktree: {
      const auto common = read_regular(directory, "commondir", kGitPointerLimit);
      const auto pointer = read_regular(directory, "gitdir", kGitPointerLimit);
      if (!common || trimmed_end(*common) != "../.." || !pointer) return false;
      written = trimmed_end(*pointer);
      break;
    }
    case GitRole::Module: {
      const auto text = read_regular(directory, "config", kGitConfigLimit);
      const auto settings = text ? parse_git_config(*text) : std::nullopt;
      const auto worktree = settings ? last_value(*settings, "core", "", "worktree") : std::nullopt;
      if (!worktree || worktree->empty()) return false;
      written = join(*worktree, ".git");
      break;
    }
  }
  if (written.empty()) return false;
  const std::string spelled = written.front() == '/' ? written : "./" + written;
  const Result<Canonical> file = canonicalize(spelled, path, caller_);
  return file && file->kind == FileKind::Regular && names_file(file->path, path);
}

void GitInspection::inspect_part(int directory, const std::string& path, GitRole role, Age age) {
  const auto appeared = [&](const char* name) {
    const auto seen = inspect_name(directory, name);
    return seen && !was_there(before_, *seen);
  };
  // In a new worktree the pointer was checked to lead back; anywhere else it has no business.
  if (appeared("commondir") && (role != GitRole::Worktree || age == Age::Old))
    quarantine_.take(directory, "commondir", join(path, "commondir"), HoldKind::Git);
  if (appeared("hooks")) inspect_hooks(directory, path);
  if (appeared("config")) clean_config(directory, path, "config", role);
  if (appeared("config.worktree")) {
    if (age == Age::Old)
      quarantine_.take(directory, "config.worktree", join(path, "config.worktree"), HoldKind::Git);
    else
      clean_config(directory, path, "config.worktree", GitRole::Worktree);
  }
  if (appeared("gitdir") && age == Age::Old)
    quarantine_.take(directory, "gitdir", join(path, "gitdir"), HoldKind::Git);
  for (const GitFile& file : git_files()) inspect_file(directory, path, file);
  for (const std::string_view name : kAddressDirectories)
    if (appeared(std::string(name).c_str())) inspect_addresses(directory, path, std::string(name));
}

void GitInspection::inspect_hooks(int directory, const std::string& path) {
  const std::string hooks = join(path, "hooks");
  const Fd fd(::openat(directory, "hooks", kOpenDirectory));
  if (!fd.valid()) return quarantine_.take(directory, "hooks", hooks, HoldKind::Git);
  DirectoryNames names;
  names.read(fd.get());
  for (const DirectoryEntry& entry : names.entries())
    if (!entry.name.ends_with(".sample"))
      quarantine_.take(fd.get(), std::string(entry.name), join(hooks, entry.name), HoldKind::Git);
}

void GitInspection::inspect_file(int directory, const std::string& path, const GitFile& file) {
  const std::size_t slash = file.path.find('/');
  std::string name(file.path);
  Fd inner;
  if (slash != std::string_view::npos) {
    const std::string outer(file.path.substr(0, slash));
    name = file.path.substr(slash + 1);
    const auto above = inspect_name(directory, outer);
    if (!above) return;
    if (above->symlink && !is_unchanged(before_, *above))
      return quarantine_.take(directory, outer, join(path, outer), HoldKind::Git);
    inner = Fd(::openat(directory, outer.c_str(), kOpenDirectory));
    // git needs no listing to read a file in there.
    if (!inner.valid() && errno == EACCES)
      return quarantine_.take(directory, outer, join(path, outer), HoldKind::Git);
    if (!inner.valid()) return;
  }
  const int place = inner.valid() ? inner.get() : directory;
  const auto seen = inspect_name(place, name);
  if (!seen || is_unchanged(before_, *seen)) return;
  const auto text = read_regular(place, name, kFileLimit);
  if (!text || !file.runs_nothing(*text))
    quarantine_.take(place, name, join(path, file.path), HoldKind::Git);
}

void GitInspection::inspect_addresses(int directory, const std::string& path,
                                      const std::string& name) {
  const std::string full = join(path, name);
  const Fd fd(::openat(directory, name.c_str(), kOpenDirectory));
  if (!fd.valid()) return quarantine_.take(directory, name, full, HoldKind::Git);
  DirectoryNames names;
  names.read(fd.get());
  for (const DirectoryEntry& entry : names.entries())
    quarantine_.take(fd.get(), std::string(entry.name), join(full, entry.name), HoldKind::Git);
}

void GitInspection::odd_entry(int directory, const std::string& name, const std::string& path) {
  const auto seen = inspect_name(directory, name);
  if (!seen || seen->kind != FileKind::Other || !has_appeared(before_, *seen)) return;
  // The old form of HEAD is a link to a branch.
  if (seen->symlink)
    if (const auto target = read_link(directory, name);
        target && target->starts_with("refs/") && !has_dotdot(*target))
      return;
  quarantine_.take(directory, name, path, HoldKind::Git);
}

// Keeps a configuration that runs nothing byte for byte; otherwise the original goes and its
// harmless part is put in its place. Only a submodule names its worktree, and that it leads back
// was checked before.
void GitInspection::clean_config(int directory, const std::string& path, const char* name,
                                 GitRole role) {
  const std::string full = join(path, name);
  const auto seen = inspect_name(directory, name);
  const auto text = read_regular(directory, name, kGitConfigLimit);
  std::vector<GitSetting> kept;
  if (text) {
    const auto settings = parse_git_config(*text);
    const auto keep = [&](const GitSetting& setting) {
      const bool worktree =
          setting.section == "core" && setting.subsection.empty() && setting.key == "worktree";
      // The next push goes to where a remote leads: in a section that was there before that stays.
      const bool changed = leads_somewhere(setting) &&
                           before_.git_settings.contains(digest_of_section(full, setting));
      return (is_harmless(setting) && !changed) || (worktree && role == GitRole::Module) ||
             before_.git_settings.contains(digest_of(full, setting));
    };
    if (settings && std::all_of(settings->begin(), settings->end(), keep)) return;
    if (settings) std::copy_if(settings->begin(), settings->end(), std::back_inserter(kept), keep);
  }
  if (!seen || seen->kind != FileKind::Regular)
    return quarantine_.take(directory, name, full, HoldKind::Git);
  // At once: a run that starts meanwhile, or a git outside, finds one of the two, never none.
  const std::string clean = unguessable_name();
  const unsigned mode = seen->mode & 0777;
  if (!clean.empty() && put_file(directory, clean, write_git_config(kept), mode) == 0) {
    if (::renameat2(directory, clean.c_str(), directory, name, RENAME_EXCHANGE) == 0) {
      if (!quarantine_.was_taken(directory, clean, full, HoldKind::Git))
        quarantine_.put_back(full, HoldKind::Git);
      return;
    }
    ::unlinkat(directory, clean.c_str(), 0);
  }
  // A file system that cannot exchange. If it is gone by now the original comes back as a whole.
  if (quarantine_.was_taken(directory, name, full, HoldKind::Git))
    put_file(directory, name, write_git_config(kept), mode);
}

void GitInspection::take_reference(const GitReference& reference, Age age) {
  if (!reference.certain || !inspect_path(reference.path)) return;
  const Result<Canonical> target = canonicalize(reference.path, "/", caller_);
  if (target && target->kind == FileKind::Directory && !reference.directory) return;
  const auto take = [&](const std::string& victim) {
    if (!grants_.is_writable(victim) || grants_.covers_grant(victim)) return;
    const Fd above = open_canonical(std::string(parent(victim)), O_PATH | O_DIRECTORY);
    if (!above.valid()) return;
    const std::string name(basename(victim));
    const auto seen = inspect_name(above.get(), name);
    // What lay there before a new repository was made around it was not looked at.
    if (seen && !was_there(before_, *seen) && (age == Age::Old || has_appeared(before_, *seen)))
      quarantine_.take(above.get(), name, victim, HoldKind::Git);
  };
  if (target && target->kind != FileKind::Absent) take(target->path);
  // A new link under the referenced name leads to what was there for another purpose.
  const Result<Canonical> directory = canonicalize(parent(reference.path), "/", caller_);
  if (directory) take(join(directory->path, basename(reference.path)));
}

void GitInspection::finish() {
  for (const std::string& path : pointers_) {
    const Fd directory = open_canonical(std::string(parent(path)), O_PATH | O_DIRECTORY);
    if (!directory.valid()) continue;
    const auto text = read_regular(directory.get(), ".git", kGitPointerLimit);
    const auto target = text ? parse_git_file(*text) : std::nullopt;
    if (target) {
      const std::string spelled = target->front() == '/' ? *target : "./" + *target;
      const Result<Canonical> found = canonicalize(spelled, parent(path), caller_);
      if (found && known_.contains(found->path)) {
        new_references_.add_pointer(path);
        continue;
      }
    }
    quarantine_.take(directory.get(), ".git", path, HoldKind::Git);
  }
  for (const GitReference& reference : old_references_.find()) take_reference(reference, Age::Old);
  for (const GitReference& reference : new_references_.find()) take_reference(reference, Age::New);
}

}  // namespace cordon
