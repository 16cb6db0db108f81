// Stage: the layer that a staged run writes into, as a directory of Cordon's own.
//
//   stages/ID/stage     what the run was: its roots, when it began, what its changes are judged by
//   stages/ID/N/upper   what was written below root number N; whiteouts stand for what was deleted
//   stages/ID/N/work    the kernel's own place, gone after an orderly end
//   stages/ID/N/steady  what of git stands still for the run (changes/stage_steady.h), gone
//   likewise stages/ID/N/copy    of a stage that is a copy, in place of `work`
//   (changes/stage_copy.h)
//
// Every writable grant of the run is an overlay: the host's directory below, `upper` above it. The
// host's directory is changed by nothing that is done inside, protected names and `.git` included.
// When the run is over, `upper` is read beside the host's directory (changes/stage_list.h): that is
// the list of changes, and nothing else has to be looked at.
//
// One process works on a stage at a time: the run that fills it, or a `cordon changes` that takes
// from it. It holds a lock on the file `stage`. The kernel itself would let two runs write into one
// upper directory and mix both.
//
// A later run may go on in a stage (`resume`): the same upper with a new work directory. The stage
// is that run's from then on, and the record says so. Or it may begin with a copy of what was
// changed (`fork`): then there are two stages that know nothing of each other. Both are judged by
// the beginning of the first run: what the host changed since then the layer may hide.
//
// The overlay is mounted with `volatile`, which leaves `work/work/incompat/volatile` behind. At an
// orderly end the work directory is removed. One that is still there says that the run was cut off:
// after a crash of the machine its files may be incomplete, and whoever takes them is told so.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "changes/single_file.h"
#include "cordon/result.h"
#include "host/git/branch_tips.h"
#include "host/owner.h"
#include "policy/effective.h"

namespace cordon {

struct StagedRoot {
  std::string path;  // canonical: of the writable grant
  FileId id;
  std::string upper;
  std::string work;    // of an overlay
  std::string steady;  // of an overlay with a repository in it (changes/stage_steady.h)
  std::string copy;    // of a copy
  bool operator==(const StagedRoot&) const = default;
};

// What the survey found to be protected: a change at or below it waits for `reason`.
struct StagedHold {
  std::string path;
  std::string reason;
  bool operator==(const StagedHold&) const = default;
};

// A repository in a root, as it was before the run: what a ref is compared with when commits
// arrive.
struct StagedRepository {
  std::string path;  // of the git directory
  FileId id;
  GitRefs refs;
  bool operator==(const StagedRepository&) const = default;
};

struct StageRecord {
  std::string run_id;
  std::string base;  // the run whose stage this one went on from; empty: none
  StageEnd end = StageEnd::Review;
  // The clock that change times are taken from, before the launch: what the host has that is
  // younger was changed beside the run.
  std::int64_t began_ns = 0;
  std::string boot;  // of the machine; another one now: it crashed or was started anew
  std::vector<StagedRoot> roots;
  // What changes are judged by, as it was when the run began.
  std::vector<DenyGlob> deny;
  HeldPlaces held;
  std::vector<std::string> named;  // paths that a policy or a ceiling names, absolute
  std::vector<StagedHold> holds;
  std::vector<std::string> own;  // directories and programs of Cordon's own
  std::vector<StagedRepository> repositories;
  bool copy = false;  // no overlay: the command works in a copy, and the layer is gathered from it
  bool operator==(const StageRecord&) const = default;
};

// Where the stages of all runs lie.
std::string stage_directories(const std::string& state_directory);

// Called every now and then while the host's files are copied, with how many were; a last time with
// nothing.
using CopyProgress = std::function<void(std::optional<std::uint64_t> copied)>;

// Whom a stage is made for.
struct StageFor {
  std::optional<Owner> owner;    // if the command is another user
  std::set<std::string> unseen;  // what a mask hides from it: a copy leaves it out
  CopyProgress copying;          // absent: nobody wants to know
};

class Stage {
 public:
  // Makes `directory` with an upper for each root, and a work directory or a copy, and locks it.
  // Each upper gets the mode of its root: an overlay shows that of the upper.
  static Result<Stage> make(const std::string& directory, StageRecord record, const StageFor& whom);
  // The same with a copy of what lies in `base`, which is left as it is. The roots are those of
  // `base`. Cut off in the middle, it leaves nothing that `drop_unfinished` does not remove.
  static Result<Stage> fork(const std::string& directory, StageRecord record, const StageFor& whom,
                            const Stage& base);
  // Removes what is left of a stage whose making was cut off; false if it is a whole one.
  static bool drop_unfinished(const std::string& directory);
  // Locks and reads. Nothing if there is none; an error if somebody else works on it.
  static Result<std::optional<Stage>> open(const std::string& directory);
  // Its record, without locking; nothing if there is none.
  static std::optional<StageRecord> peek(const std::string& directory);
  // Whose stage it is, likewise; empty if there is none.
  static std::string run_of(const std::string& directory);

  // Hands the stage to the run of `record`, which has the same roots, and makes the work
  // directories or copies anew. What either record holds back stays held back.
  Result<void> resume(StageRecord record, const StageFor& whom);
  // Of a run that was not started: what `make` or `fork` made is removed, what was resumed is given
  // back as it was.
  [[nodiscard]] Result<void> withdraw();

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const StageRecord& record() const { return record_; }
  // After the last process of the run has ended: makes what it wrote last, and removes the work
  // directories, or gathers what changed in the copies. Returns whether files may be incomplete:
  // the machine was started anew since.
  Result<bool> close();
  // Removes all of it.
  [[nodiscard]] Result<void> remove() const;

 private:
  static Result<Stage> fill(const std::string& directory, StageRecord record, const StageFor& whom,
                            const Stage* base);
  Result<void> write_record(int place, StageRecord record);

  std::string directory_;
  StageRecord record_;
  std::optional<StageRecord> before_;  // of a stage that was resumed
  Fd lock_;
};

// Whether two records have the same roots, number by number.
bool have_same_roots(const StageRecord& one, const StageRecord& other);

// Bytes on the disk, up to a bound of entries; for people.
std::uint64_t stage_size(const std::string& directory);

std::int64_t time_in_ns(const timespec& time);

}  // namespace cordon
