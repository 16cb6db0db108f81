// Taking what a run left aside: apply puts a held version into its place, restore undoes that,
// discard drops it.
//
// The order of steps makes every moment a crash point that the next attempt goes on from. To apply
// a file: (1) copy what the host has to handoff/RUN, (2) note where that copy lies, (3) write the
// new version beside the old one under a name that nobody knows, (4) rename it over the old one,
// (5) note that it is applied. After (2) nothing can be lost; between (4) and (5) the file is found
// equal to what was to be put, and is noted as applied.
//
// A file that is no longer what it was when the run began is never overwritten: that is a conflict,
// and both versions stay. Nothing is followed through a symlink: the tree was written by a run.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "changes/manifest.h"
#include "policy/host_facts.h"

namespace cordon {

// Opening what a run left in a stage: it may have taken every right away from what it made. Nothing
// is followed.

// A directory, to list it or go below it. One that was closed to its owner is open as long as this
// lives, since every look below needs the right to search it, and closed again afterwards.
class KeptDirectory {
 public:
  KeptDirectory() = default;
  static KeptDirectory open(int directory, const std::string& name);
  // What lies at `path` below `directory`, through directories that may be closed; "" is that
  // itself.
  static KeptDirectory open_below(int directory, std::string_view path);
  KeptDirectory(KeptDirectory&& other) noexcept = default;
  KeptDirectory& operator=(KeptDirectory&& other) noexcept;
  ~KeptDirectory() { close_again(); }
  KeptDirectory(const KeptDirectory&) = delete;
  KeptDirectory& operator=(const KeptDirectory&) = delete;

  [[nodiscard]] bool valid() const { return directory_.valid(); }
  [[nodiscard]] int get() const { return directory_.get(); }

 private:
  void close_again();

  Fd directory_;
  std::optional<mode_t> closed_;  // the mode that it had
};

// A regular file, to read it. Its mode is as before when the call returns.
Fd open_kept_file(int directory, const std::string& name);

// Whose tree a copy is made of: what a run left is opened for the moment, of the host's own nothing
// is touched, and what cannot be read is an error.
enum class CopyFrom { Run, Host };

// A directory of either, to list it.
class SourceDirectory {
 public:
  SourceDirectory(CopyFrom from, int above, const std::string& name);
  [[nodiscard]] bool valid() const { return kept_.valid() || plain_.valid(); }
  [[nodiscard]] int get() const { return kept_.valid() ? kept_.get() : plain_.get(); }

 private:
  KeptDirectory kept_;
  Fd plain_;
};

// A regular file of either, to read it.
Fd open_source_file(CopyFrom from, int directory, const std::string& name);

// In a clone, a linked worktree or a submodule that a run made, what was moved out of it is marked
// skip-worktree in its index, so that the next commit of everything does not delete it
// (run/held_run.h). When the person takes such a file, it is there again and the mark has to go:
// else git would hide from them whatever becomes of it. When they undo that, it comes back.
//
// The run may have written the repository. Its index is read by Cordon's own strict reader, no git
// is run, and a `.git` file is followed only to a git directory that names this work tree in turn:
// a planted one must not have Cordon change the index of another repository.

// For records that were added by a run and are applied now, or were applied in `before`. Gives the
// indexes that could not be changed.
std::vector<Error> follow_in_indexes(const std::vector<ChangeRecord>& before,
                                     const std::vector<ChangeRecord>& now, const Caller& caller);

struct Taken {
  // Something that is not taken, whoever names it.
  struct Refused {
    std::string path;
    std::string reason;
  };
  std::size_t done = 0;
  std::vector<std::string> conflicts;  // paths
  std::vector<Refused> refused;
  std::vector<Error> unmarked;  // indexes in which a mark of git's could not be changed
};

// Each works on the records whose path lies in one of `paths`, or on all if there are none, and
// writes the manifest after each step.
// ByCaller: for the end of a run, which writes the manifest before and after.
enum class Noting { EachStep, ByCaller };
Result<Taken> apply_changes(const std::string& handoff, Manifest& manifest,
                            const std::vector<std::string>& paths,
                            Noting noting = Noting::EachStep);
Result<Taken> discard_changes(const std::string& handoff, Manifest& manifest,
                              const std::vector<std::string>& paths);
Result<Taken> restore_changes(const std::string& handoff, Manifest& manifest,
                              const std::vector<std::string>& paths);

bool is_selected(const ChangeRecord& record, const std::vector<std::string>& paths);

}  // namespace cordon
