// A note in runs/ of what only a living process can remove. It is written before anything starts
// and removed at the end; a note whose writer is dead tells the next start what to clean up.
#pragma once

#include <sys/types.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "host/kept_files.h"
#include "host/survey.h"
#include "policy/host_facts.h"
#include "run/note_text.h"

namespace cordon {

// Where the private directories of all runs lie that have no mounts to hide them by.
std::string private_directories(const Caller& caller);

// Where what is kept of protected files lies, of all runs.
std::string kept_directories(const Caller& caller);

// The names are read before anything is done about one: recovery renames and removes notes.
struct NoteNames {
  Fd directory;
  std::vector<std::string> names;
};
NoteNames note_names(const Caller& caller);

// What the run kept of protected files, if the note names the place where Cordon itself keeps it:
// anybody who can write the state directory could have written the note. Nothing if it kept
// nothing.
std::optional<KeptFiles> kept_files_of(const NoteContent& content, const Caller& caller);

class RunNote {
 public:
  RunNote() = default;
  RunNote(RunNote&&) = default;
  RunNote& operator=(RunNote&&) = default;
  ~RunNote();
  RunNote(const RunNote&) = delete;
  RunNote& operator=(const RunNote&) = delete;

  static Result<RunNote> write(const Caller& caller, const NoteContent& content);
  // After the launch: whose end is waited for before the next start cleans up after this run.
  void started(pid_t init);
  // Keeps the note if a cgroup or directory it names is still there: the next start tries again.
  void remove();
  // Leaves the note, as of a run whose supervisor is gone: what could not be looked at in its trees
  // is looked at by the next start.
  void leave();

 private:
  Fd directory_;
  std::vector<std::string> cgroups_;
  std::string private_directory_;
  std::string kept_directory_;
  Fd file_;  // holds the lock that says its writer lives
  std::string name_;
};

// The runs that are not over, as their notes say, but for the one of that id.
std::vector<OtherRun> other_runs(const Caller& caller, const std::string& run_id);

// A run, but for the one of that id, that is at work in a tree of `effective`.
struct RunAtWork {
  std::string id;
  pid_t supervisor = 0;
};
std::vector<RunAtWork> runs_at_work(const Caller& caller, const Effective& effective,
                                    const std::string& but);

// Of those, the ones that hold protected files in another way: a run without mounts can take a
// mount away with the name that it lies on, and put back the file that was there.
enum class HeldBy { Mounts, Copies };
std::vector<RunAtWork> runs_held_otherwise(const Caller& caller, const Effective& effective,
                                           HeldBy own, const std::string& but);

// The same as the search for what is new wants them, of those that can write in one of the trees of
// `effective`. Runs that keep protected files instead of holding them put back what they changed
// themselves, and are left out.
std::vector<OlderRun> older_runs(const Caller& caller, const Effective& effective);

// Another run that is not over and can write in one of these trees: what it may have done to
// branches is not written down yet.
struct OtherBranches {
  std::vector<std::string> writable;
  std::optional<std::set<std::string>> tips;  // as in its note
};
std::vector<OtherBranches> other_branches(const Caller& caller, const std::string& run_id,
                                          const Effective& effective);

}  // namespace cordon
