// StageGit: commits of a staged run on their way into the host's repository.
//
// The host's repository gets a pack and then new values of refs; nothing else of what the run
// wrote. In which order, and what is looked at:
//
//   1. Packed and checked in sandboxes (GitCourier). What is believed of the result is what hashes
//      prove: the ids were read from the layer, each commit and tree on the way is hashed.
//   2. Judged. For each ref the paths that differ between what it was and what it is to be go
//   through
//      the table of protected names, as the work tree does: a checkout writes them, and editors,
//      shells and build tools run some of them. With a hit the ref stays.
//   3. Compared with the host. A ref that is not what it was when the run began stays. What is
//      checked out moves only with the work tree: if one of the files that differ cannot be
//      applied, or the index has something else staged for one, then branch, HEAD and index stay,
//      since `git status` would call the person's own files changes. A ref that stays is written as
//      refs/cordon/RUN, and how to merge it is told.
//   4. The pack is put among the objects, durably. Nothing leads to it yet.
//   5. Locked, by git's own protocol: refs/heads/x.lock, HEAD.lock, index.lock, each with the new
//      content in it; then what is there is compared once more. From here on git outside waits.
//   6. The work tree is put in place (changes/stage_take.h).
//   7. Each lock is renamed into its place: branches, HEAD, index.
//
// A lock is a second name of a file at the top of the git directory whose first name begins with
// the word of the batch. So whoever comes after a crash knows which locks are ours. If one ref has
// moved, the other locks are renamed as well; if all files of the batch are in place, too; else the
// locks go and nothing has moved. Nobody else's lock is ever removed.
//
// To restore is the same backwards: locked, compared with what was put there, and only if nobody
// moved it since. The pack stays: nothing leads to it, and git removes it when it cleans up.
//
// No git is run on the host's repository, so no hook, no setting and no attribute of it is either.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "changes/durable.h"
#include "changes/git_courier.h"
#include "changes/manifest.h"
#include "changes/stage.h"
#include "changes/stage_git_list.h"
#include "changes/stage_judge.h"
#include "cordon/result.h"
#include "host/git/branch_tips.h"
#include "host/git/object.h"

namespace cordon {

// One repository and one batch.
class StageGit {
 public:
  // `records` are all of `git_directory` that can be taken, by their numbers. Everything referred
  // to outlives this; `replaced` is where the batch keeps what a restore needs.
  StageGit(Manifest& manifest, const Stage& stage, std::string git_directory,
           std::vector<std::size_t> records, int replaced);

  // Steps 1 to 3, as far as files do not matter. `courier` may be null: then nothing arrives.
  void plan(GitCourier* courier);
  // The same for a restore.
  void plan_back();
  // Files that what is checked out before and after differs in; absolute.
  [[nodiscard]] const std::set<std::string>& committed() const { return committed_; }
  // What is checked out is to move, and the files with it.
  [[nodiscard]] bool moves_checkout() const { return moves_checkout_; }
  // It stays after all, and the files in `committed` with it.
  void leave_checkout(const std::string& why);
  // Why the files come with a merge, and how; empty: they do not.
  [[nodiscard]] std::string merge_of_checkout() const;
  // Something is to be done on the host.
  [[nodiscard]] bool has_work() const;

  // Of records that will move: that this batch does it. A restore finds what it needs.
  Result<void> note_begin(Durable& durable);
  // Steps 4 and 5. After an error nothing has moved. What somebody else moved meanwhile stays.
  Result<void> put_objects(const std::string& state_directory, Durable& durable);
  void lock();
  // Step 7, and the refs of what stays.
  void commit(Durable& durable);
  void write_merge_refs(Durable& durable);
  // Enters what became of each into its record; the number of those that moved.
  std::size_t settle_applied();
  std::size_t settle_restored();
  // What was not moved and why: path and reason.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> refused() const;

  // After a crash, for the records of one repository that were under way. `whole`: everything else
  // of the batch is in place.
  enum class Batch { Whole, Part };
  void finish(Batch files);

 private:
  struct Step {
    std::size_t record = 0;
    std::string name;  // "refs/heads/main", "HEAD"
    GitMove move;
    std::string why;        // it stays; empty: it moves
    std::string merge_ref;  // what it is written as instead; empty: nothing
    std::string line;       // that takes it, for the person
    bool by_host = false;   // it stays because of something that the host did
    bool is_there = false;  // the host has it already
    bool moved = false;
    bool locked = false;
  };
  enum class Way { Forward, Back };

  // stage_git.cc: what is to be done.
  bool open(Way way);
  [[nodiscard]] std::string layer() const;
  [[nodiscard]] std::string pack_place() const;
  [[nodiscard]] bool is_carrier(const Step& step) const;
  [[nodiscard]] std::string top() const;  // of the work tree
  [[nodiscard]] std::string value_after(const std::string& head) const;
  [[nodiscard]] std::string host_value(const std::string& name) const;
  [[nodiscard]] std::string in_the_way(const Step& step) const;
  [[nodiscard]] bool is_checked_out_elsewhere(const std::string& name) const;
  [[nodiscard]] bool is_under_way() const;
  [[nodiscard]] std::string commit_of(std::string id) const;
  [[nodiscard]] std::optional<std::string> tree_of(const std::string& id) const;
  [[nodiscard]] std::string base_of(const Step& step) const;
  [[nodiscard]] std::optional<std::string> hits_between(const std::string& before,
                                                        const std::string& after) const;
  [[nodiscard]] std::string hit_of(const StageJudge& judge, const GitTreeChange& change) const;
  void refuse_all(const std::string& why);
  void compare_with_host();
  Result<void> bring(GitCourier& courier);
  void judge_steps();
  void plan_index();
  void name_merge_refs();

  // stage_git_move.cc: doing it.
  [[nodiscard]] std::string own_name(const Step& step) const;
  [[nodiscard]] std::string own_index_name() const;
  [[nodiscard]] std::string list_name() const;
  int write_own(const std::string& name, const std::string& content, const char* like);
  bool take_lock(const std::string& own, const std::string& target);
  bool move_lock(const std::string& own, const std::string& target, bool removes);
  void drop_lock(const std::string& own, const std::string& target);
  [[nodiscard]] bool is_our_lock(const std::string& own, const std::string& target) const;
  void drop_checkout_locks();
  [[nodiscard]] bool is_as_planned(const Step& step, const GitRefs& now) const;
  [[nodiscard]] std::string now_value(const Step& step, const GitRefs& now) const;
  void log(const Step& step, const std::string& name) const;
  int put_pack_file(const char* from, int into, const std::string& name);
  [[nodiscard]] int give(int file, unsigned mode) const;

  Manifest& manifest_;
  const Stage& stage_;
  std::string path_;
  std::vector<std::size_t> records_;
  int replaced_;
  Fd directory_;
  const StagedRepository* before_ = nullptr;
  GitRefs host_;
  std::vector<Step> steps_;
  std::optional<std::size_t> index_record_;
  // What the run found checked out, and what it left.
  std::string head_before_;
  std::string head_after_;
  std::string commit_before_;
  std::string commit_after_;
  bool moves_checkout_ = false;
  BroughtCommits brought_;
  bool is_brought_ = false;
  std::vector<GitTreeChange> changes_;
  std::set<std::string> committed_;
  std::string index_before_;
  std::optional<std::string> index_after_;
  bool index_locked_ = false;
  // The refs have moved, and the index could not follow them.
  bool index_stayed_ = false;
  bool index_is_behind_ = false;  // the run had staged more than it committed
};

}  // namespace cordon
