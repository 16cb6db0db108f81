// StageBatch: one apply or restore of what a stage holds, all of it or none where it can be.
//
//   choose      which changes go now (stage_choose.cc): those that were asked for, with the
//               directories above them; not what the host has changed, nor what waits for a merge
//   carry out   what is replaced is copied aside, what is new is written where it waits, both are
//               made durable; then each is renamed into place (stage_carry.cc)
//   finish      what a batch that was cut off left: found out by looking, change by change
//
// The manifest says which batch is under way (`pending`, a word nobody can guess, which is in the
// names of what waits) before anything of it is on the disk, and that it is
// over when everything is. In between a crash leaves each file old or new, and its copy.
//
// A new version waits in the .git of its root, where neither git nor an editor looks for files of
// the work tree: `git add -A`, of the person or of another run over the same project, would find it
// beside its place, and add it or stop because it is gone. Where there is no .git, or one that
// makes other files (makes_alike), it does wait beside its place.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/path.h"
#include "changes/durable.h"
#include "changes/held_back.h"
#include "changes/stage.h"
#include "changes/stage_git.h"
#include "changes/stage_list.h"
#include "changes/stage_take.h"

namespace cordon {

class StageBatch {
 public:
  StageBatch(const std::string& handoff, Manifest& manifest, const Stage& stage,
             GitCourier* courier = nullptr)
      : handoff_(handoff), manifest_(manifest), stage_(stage), courier_(courier) {}

  // Everything that may go without a name, or what `paths` name.
  Result<Taken> apply(const std::vector<std::string>& paths);
  Result<Taken> restore(const std::vector<std::string>& paths);
  // Before anything else: the roots are those of the run.
  Result<void> open();
  // What a batch before left.
  Result<void> finish();

 private:
  using Kind = Change::Kind;
  using State = Change::State;
  enum class Asked { Everything, ByName };

  [[nodiscard]] std::string replaced_place() const { return join(stage_.directory(), "replaced"); }

  // stage_choose.cc
  static bool is_named(const ChangeRecord& record, const std::vector<std::string>& paths);
  [[nodiscard]] std::map<std::string, std::vector<std::size_t>> git_records() const;
  [[nodiscard]] bool is_any_selected(const std::vector<std::size_t>& records, State state,
                                     const std::vector<std::string>& paths) const;
  void plan_git(const std::vector<std::string>& paths);
  void hold_committed(const StageGit& git);
  void drop_empty_directories();
  static bool has_committed_below(const StageGit& git, const std::string& path);
  void leave_out(std::size_t index);
  void let_files_decide();
  void lock_git();
  void plan_git_back(const std::vector<std::string>& paths);
  void settle_git();
  void tell_refused();
  void choose(const std::vector<std::string>& paths);
  void judge(Asked asked);
  void bar_parents();
  [[nodiscard]] bool is_type_change(std::string_view path) const;
  [[nodiscard]] const ChangeRecord* find(std::string_view path) const;
  [[nodiscard]] std::vector<std::size_t> made_above(std::string_view path) const;

  // stage_carry.cc
  [[nodiscard]] std::string waiting_name(std::size_t index) const;
  // The .git it waits in; -1 if it waits beside its place.
  [[nodiscard]] int git_place(const ChangeRecord& record, const Spot& spot) const;
  void drop_waiting(std::size_t index, const std::optional<Spot>& spot) const;
  static Result<std::string> new_word();
  [[nodiscard]] std::optional<KeptSpot> kept_of(const ChangeRecord& record) const;
  [[nodiscard]] bool has_new(const ChangeRecord& record, const Spot& spot) const;
  [[nodiscard]] bool has_old(const ChangeRecord& record, const std::optional<Spot>& spot) const;
  bool stays_made(ChangeRecord& record, const std::optional<Spot>& spot) const;
  [[nodiscard]] bool came_back(const ChangeRecord& record, const std::optional<Spot>& spot) const;
  Result<void> carry_out();
  Result<void> move_git();
  Result<void> begin();
  Result<void> keep_replaced();
  Result<void> synced();
  Result<void> make_waiting();
  Result<void> put_in_place();
  void conflict(ChangeRecord& record);
  static bool is_as_before(const ChangeRecord& record, const std::optional<Spot>& spot);
  void remove(std::size_t index);
  void rename(std::size_t index);
  // What waits gets its name, at once. What stood there and has another type was copied before. If
  // it is a directory it is empty by now; or somebody filled it, and then everything is as it was.
  bool move_in(std::size_t index, int git, const Spot& spot);
  void set_mode(std::size_t index);
  static void applied(ChangeRecord& record, const std::optional<Spot>& spot);
  void held_again(ChangeRecord& record, const std::optional<Spot>& spot);
  void drop_replaced(ChangeRecord& record);
  void undo();
  bool bring_back(std::size_t index, std::vector<std::size_t>& modes);
  Result<void> note_end();
  Result<Taken> end();

  const std::string& handoff_;
  Manifest& manifest_;
  const Stage& stage_;
  GitCourier* courier_;
  Fd replaced_;
  std::vector<Fd> git_places_;  // the .git of each root; invalid where there is none
  std::deque<StageGit> git_;
  std::set<const StageGit*> back_;      // those that a restore moves
  std::vector<std::string> dropped_;    // names in `replaced`
  std::vector<std::size_t> todo_;       // of manifest_.records, sorted by path
  std::map<std::size_t, int> waiting_;  // of them, those that a rename puts in place: git_place
  Taken taken_;
  Durable durable_;
};

}  // namespace cordon
