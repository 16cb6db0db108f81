#include "run/run_note.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/walk.h"

namespace cordon {

std::string private_directories(const Caller& caller) {
  return join(caller.state_directory, "private");
}

std::string kept_directories(const Caller& caller) { return join(caller.state_directory, "kept"); }

NoteNames note_names(const Caller& caller) {
  NoteNames notes;
  notes.directory =
      Fd(::open(join(caller.state_directory, "runs").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DirectoryNames listing;
  if (!notes.directory.valid() || !listing.read(notes.directory.get())) return notes;
  for (const DirectoryEntry& entry : listing.entries()) notes.names.emplace_back(entry.name);
  return notes;
}

std::optional<KeptFiles> kept_files_of(const NoteContent& content, const Caller& caller) {
  if (content.kept_directory != join(kept_directories(caller), content.run_id)) return std::nullopt;
  return KeptFiles(content.kept_directory);
}

RunNote::~RunNote() { remove(); }

namespace {

// By errno, with what can be done about it.
Error no_note(const std::string& path) {
  const int number = errno;
  const bool full = number == ENOSPC || number == EDQUOT;
  return setup_error("cannot write a note in " + quote(path), number,
                     full ? "free some space on the file system that it lies on, or set "
                            "XDG_STATE_HOME to a directory on another one"
                     : number == EROFS || number == EACCES
                         ? "set XDG_STATE_HOME to a directory that you can write"
                         : "");
}

}  // namespace

Result<RunNote> RunNote::write(const Caller& caller, const NoteContent& content) {
  RunNote note;
  const std::string path = join(caller.state_directory, "runs");
  CORDON_TRY(directory, open_private_directory(path));
  note.directory_ = std::move(directory);
  // Under its name there is a whole note or none.
  const std::string unfinished = "." + content.run_id;
  note.file_ = Fd(::openat(note.directory_.get(), unfinished.c_str(),
                           O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!note.file_.valid()) {
    return fail(no_note(path));
  }
  note.name_ = unfinished;
  note.cgroups_ = content.cgroups;
  note.private_directory_ = content.private_directory;
  note.kept_directory_ = content.kept_directory;
  const std::string text = write_note(content);
  if (::flock(note.file_.get(), LOCK_EX) < 0 || write_whole(note.file_.get(), text) != 0 ||
      ::renameat2(note.directory_.get(), unfinished.c_str(), note.directory_.get(),
                  content.run_id.c_str(), RENAME_NOREPLACE) < 0) {
    return fail(no_note(path));
  }
  note.name_ = content.run_id;
  return note;
}

// Appended, so that whoever reads meanwhile finds the note whole. Without a guard the parent is
// this process. A line that cannot be written is missed only by a start right after a kill.
void RunNote::started(pid_t init) {
  if (!file_.valid()) return;
  std::string lines;
  const auto first = mark_of(init);
  if (first) lines.append(first->text).append("\n");
  const auto above = first && first->parent != ::getpid() ? mark_of(first->parent) : std::nullopt;
  if (above) lines.append(above->text).append("\n");
  [[maybe_unused]] const ssize_t written = ::write(file_.get(), lines.data(), lines.size());
}

void RunNote::remove() {
  const auto there = [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; };
  const bool gone = std::ranges::none_of(cgroups_, there) &&
                    (private_directory_.empty() || !there(private_directory_)) &&
                    (kept_directory_.empty() || !there(kept_directory_));
  if (gone && !name_.empty() && file_.valid()) ::unlinkat(directory_.get(), name_.c_str(), 0);
  leave();
}

void RunNote::leave() {
  name_.clear();
  file_.reset();
}

namespace {

// The notes of all runs that are not over.
std::vector<NoteContent> read_notes(const Caller& caller, bool* unreadable = nullptr) {
  const NoteNames notes = note_names(caller);
  std::vector<NoteContent> contents;
  for (const std::string& name : notes.names) {
    if (name.front() == '.') continue;
    const Fd file(::openat(notes.directory.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    const auto text = file.valid() ? read_all(file.get(), SIZE_MAX) : std::nullopt;
    if (auto content = text ? read_note(*text) : std::nullopt) {
      contents.push_back(*std::move(content));
    } else if (file.valid() && unreadable != nullptr) {
      *unreadable = true;
    }
  }
  return contents;
}

bool share_a_tree(const NoteContent& content, const Effective& effective) {
  return std::ranges::any_of(content.writable, [&](const Grant& theirs) {
    return std::ranges::any_of(effective.write, [&](const Grant& ours) {
      return contains(theirs.path, ours.path) || contains(ours.path, theirs.path);
    });
  });
}

}  // namespace

std::vector<OtherRun> other_runs(const Caller& caller, const std::string& run_id) {
  std::vector<OtherRun> runs;
  for (const NoteContent& content : read_notes(caller)) {
    if (content.run_id == run_id) continue;
    OtherRun run;
    if (kept_files_of(content, caller)) run.kept_directory = content.kept_directory;
    for (const Grant& grant : content.writable) run.writable.push_back(grant.path);
    for (const auto& [id, mark] : content.snapshot.protected_objects.marks()) run.held.insert(id);
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<OlderRun> older_runs(const Caller& caller, const Effective& effective) {
  std::vector<OlderRun> runs;
  if (effective.write.empty()) return runs;
  for (NoteContent& content : read_notes(caller)) {
    if (!content.holds_by_mounts || !share_a_tree(content, effective)) continue;
    OlderRun run;
    run.id = content.run_id;
    for (const Grant& grant : content.writable) run.writable.push_back(grant.path);
    run.snapshot = std::move(content.snapshot);
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<RunAtWork> runs_at_work(const Caller& caller, const Effective& effective,
                                    const std::string& but) {
  std::vector<RunAtWork> runs;
  for (const NoteContent& content : read_notes(caller))
    if (content.run_id != but && share_a_tree(content, effective))
      runs.push_back({content.run_id, content.writer});
  return runs;
}

std::vector<RunAtWork> runs_held_otherwise(const Caller& caller, const Effective& effective,
                                           HeldBy own, const std::string& but) {
  std::vector<RunAtWork> runs;
  for (const NoteContent& content : read_notes(caller)) {
    const HeldBy theirs = content.holds_by_mounts ? HeldBy::Mounts : HeldBy::Copies;
    // The note of one that is dead may stay, if it cannot be dealt with.
    const bool lives = ::kill(content.writer, 0) == 0 || errno == EPERM;
    if (content.run_id != but && theirs != own && lives && share_a_tree(content, effective))
      runs.push_back({content.run_id, content.writer});
  }
  return runs;
}

std::vector<OtherBranches> other_branches(const Caller& caller, const std::string& run_id,
                                          const Effective& effective) {
  std::vector<OtherBranches> runs;
  if (effective.write.empty()) return runs;
  bool unreadable = false;
  for (NoteContent& content : read_notes(caller, &unreadable)) {
    if (content.run_id == run_id || !share_a_tree(content, effective)) continue;
    OtherBranches run;
    for (const Grant& grant : content.writable) run.writable.push_back(grant.path);
    run.tips = std::move(content.tips);
    runs.push_back(std::move(run));
  }
  // Nobody knows which trees that run can write.
  if (unreadable) runs.emplace_back();
  return runs;
}

}  // namespace cordon
