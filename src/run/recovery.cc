#include "run/recovery.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "changes/run_lock.h"
#include "changes/written_tips.h"
#include "host/inspect.h"
#include "host/post_run_scan.h"
#include "host/search_turn.h"
#include "host/tree_copy.h"
#include "run/held_run.h"
#include "run/run_note.h"
#include "run/staged_run.h"
#include "run/state_upkeep.h"
#include "sandbox/native/cgroup.h"

namespace cordon {
namespace {

// Only groups of ours: the note could have been written by anyone who can write the state
// directory. What is left in one is killed, where the kernel can kill a group: its supervisor is
// dead, and nobody else will.
// False while processes of the run are still on their way out of it.
bool remove_cgroup(const std::string& path, const std::string& run_id) {
  if (!path.starts_with("/sys/fs/cgroup/") || has_dotdot(path) ||
      (basename(path) != "cordon-" + run_id && basename(path) != native::kRuntimeGroup + run_id)) {
    return true;
  }
  (void)native::kill_group(path);
  return native::remove_group(path) || errno != EBUSY;
}

// Only one of ours, for the same reason.
bool remove_private(const std::string& path, const Caller& caller) {
  if (path.empty() || has_dotdot(path) || parent(path) != private_directories(caller)) return true;
  return remove_private_tree(path);
}

// The run used them until it was killed, however long ago it had begun. Only homes and caches of
// ours, for the same reason.
void note_lasting_used(const NoteContent& content, const std::string& state) {
  for (const std::string& path : content.lasting) {
    const bool home = parent(path) == join(state, "homes");
    const bool caches = parent(path) == state && basename(path).starts_with("caches");
    struct stat status {};
    if (has_dotdot(path) || !(home || caches) || ::lstat(path.c_str(), &status) != 0) continue;
    note_used(path);
  }
}

// Only of one of ours, for the same reason.
Result<PrivateCopies> copies_of(const NoteContent& content, const Caller& caller) {
  const std::string& path = content.private_directory;
  if (path.empty() || has_dotdot(path) || parent(path) != private_directories(caller)) {
    return PrivateCopies{};
  }
  CORDON_TRY(copies, read_private_copies(path));
  return copies ? std::move(*copies) : PrivateCopies{};
}

// What was kept aside of the copies, as a later run tells it.
std::vector<Quarantined> held_handoffs(const PrivateCopies& copies,
                                       const std::vector<ChangeRecord>& records) {
  std::vector<Quarantined> told;
  for (const CopiedObject& object : copies.objects) {
    const auto in_it = [&](const ChangeRecord& one) { return one.top == object.what.path; };
    const auto first = std::ranges::find_if(records, in_it);
    if (first == records.end()) continue;
    told.push_back({object.what.path, object.what.reason, first->kept, true, {}});
  }
  return told;
}

bool is_abandoned(int fd) {
  constexpr time_t kAbandonedSeconds = 60;
  struct stat status {};
  return ::fstat(fd, &status) == 0 && ::time(nullptr) - status.st_mtime >= kAbandonedSeconds;
}

// A supervisor that is killed takes its sandbox with it, but not at once: what was put back could
// be written again by a process that is still on its way. True when the last one is gone, which is
// waited for; false: the next start looks again.
bool processes_are_gone(const NoteContent& note, const std::vector<std::string>& marks,
                        const struct stat& file) {
  constexpr time_t kLaunchSeconds = 2;
  constexpr int kLooks = 50;
  constexpr long kBetweenNanoseconds = 10'000'000;
  if (marks.empty()) {
    // Killed before it could say whom it had started; or this process's own, which left it.
    return note.writer == ::getpid() || ::time(nullptr) - file.st_mtime >= kLaunchSeconds;
  }
  for (int look = 0; look < kLooks; ++look) {
    if (std::ranges::none_of(marks, lives)) return true;
    const timespec pause{0, kBetweenNanoseconds};
    ::nanosleep(&pause, nullptr);
  }
  return false;
}

// One dead run's note. While it is worked on its name counts the attempts ("ID~1"), so that one
// which ends Cordon (by a signal, or for want of memory) is known to the next start.
class Recovery {
 public:
  Recovery(int directory, std::string name, const Caller& caller, std::vector<Quarantined>& moved)
      : directory_(directory), name_(std::move(name)), caller_(caller), moved_(moved) {}

  void run() {
    const Fd file(::openat(directory_, name_.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    // The lock is held by a supervisor that lives.
    if (!file.valid() || ::flock(file.get(), LOCK_EX | LOCK_NB) < 0) return;
    // The other start that waited for the lock has dealt with it.
    struct stat status {};
    if (::fstat(file.get(), &status) < 0 || status.st_nlink == 0) return;
    if (name_.front() == '.') {
      // Never finished: nothing was started. Its writer is about to lock it, or dead.
      if (is_abandoned(file.get())) ::unlinkat(directory_, name_.c_str(), 0);
      return;
    }
    // Of an earlier release, which filled a note in place.
    if (status.st_size == 0) {
      if (is_abandoned(file.get())) ::unlinkat(directory_, name_.c_str(), 0);
      return;
    }
    const std::string id = name_.substr(0, name_.find('~'));
    const std::string note = join(join(caller_.state_directory, "runs"), name_);
    const std::size_t tilde = name_.find('~');
    const auto attempts = tilde == std::string::npos
                              ? std::uint64_t{0}
                              : parse_number(name_.substr(tilde + 1)).value_or(kMostAttempts);
    if (attempts >= kMostAttempts) {
      moved_.push_back({".",
                        "unchecked: cleaning up after run " + id + " was cut off twice; remove " +
                            quote(note) + " when its project was looked through",
                        {}});
      return;
    }
    rename_to(id + "~" + std::to_string(attempts + 1));
    switch (work(file.get(), status, note)) {
      case Done::Yes:
        ::unlinkat(directory_, name_.c_str(), 0);
        return;
      case Done::Later:
        rename_to(id);
        return;
    }
  }

 private:
  enum class Done { Yes, Later };
  static constexpr std::uint64_t kMostAttempts = 2;
  // A start does not wait longer for a search that another start can do as well.
  static constexpr std::chrono::seconds kForAnother{5};

  void rename_to(const std::string& name) {
    if (::renameat2(directory_, name_.c_str(), directory_, name.c_str(), RENAME_NOREPLACE) == 0)
      name_ = name;
  }

  Done work(int file, const struct stat& status, const std::string& note) {
    const auto text = read_all(file, SIZE_MAX);
    const auto content = text ? read_note(*text) : std::nullopt;
    if (!content) {
      moved_.push_back({".",
                        "unchecked: the note of an earlier run cannot be read; remove " +
                            quote(note) + " when its project was looked through",
                        {}});
      return Done::Later;
    }
    note_lasting_used(*content, caller_.state_directory);
    // Emptying a group ends what is in it.
    bool gone = true;
    for (const std::string& path : content->cgroups) {
      if (!remove_cgroup(path, content->run_id)) gone = false;
    }
    if (!gone || !processes_are_gone(*content, marks_in(*text), status)) return Done::Later;
    const auto lock = RunLock::take(caller_.state_directory, content->run_id);
    if (!lock) return Done::Later;
    if (!content->stage_directory.empty()) return show_stage(*content);
    // Before anything is removed: what the run changed in its copies exists nowhere else.
    auto copies = copies_of(*content, caller_);
    if (!copies) {
      moved_.push_back({content->private_directory, "unchecked: " + message(copies.error()), {}});
      return Done::Later;
    }
    const auto turn = SearchTurn::wait_for(caller_.state_directory, content->writable, kForAnother);
    if (!turn) {
      const std::string place = content->writable.empty() ? "." : content->writable.front().path;
      moved_.push_back({place, "unchecked: " + message(turn.error()), {}});
      return Done::Later;
    }
    std::optional<KeptFiles> kept = kept_files_of(*content, caller_);
    if (kept && !kept->is_needed()) {
      kept->discard();
      // The tree is not judged again, but what the run changed in its copies may not be settled
      // yet.
      return settle(*copies, {}, *content);
    }
    std::set<std::string> git_directories;
    auto found = post_run_scan(content->writable, content->deny, caller_, content->snapshot,
                               join(caller_.state_directory, "handoff"), content->run_id,
                               kept ? &*kept : nullptr, content->roots, &git_directories);
    if (found) {
      if (auto noted = note_tips(*content, git_directories); !noted) {
        found = fail(std::move(noted).error());
      }
    }
    if (!found) {
      // What is left in the tree would be forgotten with the note: the next start looks again.
      const std::string place = content->writable.empty() ? "." : content->writable.front().path;
      moved_.push_back({place, "unchecked: " + message(found.error()), {}});
      return Done::Later;
    }
    moved_.insert(moved_.end(), found->begin(), found->end());
    if (kept) kept->discard();
    return settle(*copies, *found, *content);
  }

  // What a staged run wrote is on no project, and stays where it is until a person has decided.
  Done show_stage(const NoteContent& content) {
    const std::string& place = content.stage_directory;
    if (has_dotdot(place) || parent(place) != stage_directories(caller_.state_directory)) {
      return Done::Yes;
    }
    auto shown = settle_cut_stage(place, content.run_id, caller_);
    if (!shown) {
      moved_.push_back({place, "unchecked: " + message(shown.error()), {}});
      return Done::Later;
    }
    if (*shown) moved_.push_back(**shown);
    return Done::Yes;
  }

  // The dead run wrote tips as well.
  Result<void> note_tips(const NoteContent& content, std::set<std::string> directories) {
    directories.insert(content.snapshot.git_directories.begin(),
                       content.snapshot.git_directories.end());
    return add_new_tips(caller_.state_directory, directories, {},
                        content.tips.value_or(std::set<std::string>()));
  }

  // The copies go when everything that differs in them is kept aside, and not before.
  Done settle(const PrivateCopies& copies, const std::vector<Quarantined>& found,
              const NoteContent& content) {
    auto held = settle_held(copies, nullptr, found, content.writable, caller_, content.run_id);
    if (!held) {
      moved_.push_back({content.private_directory, "unchecked: " + message(held.error()), {}});
      return Done::Later;
    }
    for (const Quarantined& one : held_handoffs(copies, *held)) moved_.push_back(one);
    return remove_private(content.private_directory, caller_) ? Done::Yes : Done::Later;
  }

  int directory_;
  std::string name_;
  const Caller& caller_;
  std::vector<Quarantined>& moved_;
};

}  // namespace

std::vector<Quarantined> recover_runs(const Caller& caller) {
  std::vector<Quarantined> moved;
  const NoteNames notes = note_names(caller);
  for (const std::string& name : notes.names)
    Recovery(notes.directory.get(), name, caller, moved).run();
  return moved;
}

}  // namespace cordon
