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

namespace cordon {

// Ids, pids, paths of cgroups and of writable roots; never argv or output.
struct NoteContent {
  std::string run_id;
  std::vector<std::string> cgroups;
  std::string private_directory;  // of this run alone, to be removed with all it holds; or empty
  std::string stage_directory;    // of a staged run, to be shown to the person; or empty
  std::string kept_directory;     // what was kept of protected files, to be put back; or empty
  bool holds_by_mounts = true;    // false: every protected file is kept and put back instead
  pid_t writer = 0;               // of a note that was read
  std::vector<Grant> writable;
  std::vector<DenyGlob> deny;
  TreeSnapshot snapshot;
  std::vector<SearchRoot> roots;  // of `writable`, those that are searched; no descriptors
  // The tips of local branches in the writable trees before the run; absent: they are not known.
  std::optional<std::set<std::string>> tips;
};

// Where the private directories of all runs lie that have no mounts to hide them by.
std::string private_directories(const Caller& caller);

// Where what is kept of protected files lies, of all runs.
std::string kept_directories(const Caller& caller);

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
  void started(pid_t first_process);
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

// Cleans up after runs whose supervisor was killed: empties their cgroups, removes their private
// directories, puts back what was kept of protected files, moves those that appeared out of the
// tree. Returns what was moved, and one entry for each run whose files could not be dealt with; its
// note is kept. So is one that cannot be read, or whose recovery twice ended Cordon: that must not
// end every later start as well.
std::vector<Quarantined> recover_runs(const Caller& caller);

}  // namespace cordon
