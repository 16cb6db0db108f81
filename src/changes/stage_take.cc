#include "changes/stage_take.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <set>

#include "base/fd.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "changes/durable.h"
#include "changes/held_back.h"
#include "changes/stage.h"
#include "changes/stage_git.h"
#include "changes/stage_git_list.h"
#include "changes/stage_judge.h"
#include "changes/stage_list.h"
#include "host/inspect.h"
#include "host/private_file.h"
#include "host/tree_copy.h"

namespace cordon {
namespace {

using Kind = Change::Kind;
using State = Change::State;

// Stands in `replaced` for: there was nothing.
constexpr const char* kNothingThere = "-";

Error cannot_take(const std::string& what, const std::string& path, int error_number) {
  return setup_error("cannot " + what + " " + quote(path), error_number);
}

Result<void> drop_uppers(const Stage& stage) {
  for (const StagedRoot& root : stage.record().roots) {
    struct stat status {};
    if (::lstat(root.upper.c_str(), &status) == 0 && !remove_private_tree(root.upper)) {
      return fail(cannot_take("remove", root.upper, EBUSY));
    }
  }
  return {};
}

class Batch {
 public:
  Batch(const std::string& handoff, Manifest& manifest, const Stage& stage,
        GitCourier* courier = nullptr)
      : handoff_(handoff), manifest_(manifest), stage_(stage), courier_(courier) {}

  Result<Taken> apply(const std::vector<std::string>& paths) {
    CORDON_CHECK(open());
    CORDON_CHECK(finish());
    plan_git(paths);
    choose(paths);
    judge(paths.empty() ? Wish::Whatever : Wish::Named);
    bar_parents();
    let_files_decide();
    bar_parents();  // of what has to wait for a merge
    drop_empty_directories();
    if (todo_.empty() && std::ranges::none_of(git_, &StageGit::has_work)) {
      settle_git();
      return end();
    }
    auto done = carry_out();
    if (done) return end();
    // A full disk, or a directory that nobody may write: what was begun is undone or told.
    (void)durable_.sync();
    (void)finish();
    return fail(std::move(done).error());
  }

  Result<Taken> restore(const std::vector<std::string>& paths) {
    CORDON_CHECK(open());
    CORDON_CHECK(finish());
    for (std::size_t i = 0; i < manifest_.records.size(); ++i) {
      const ChangeRecord& record = manifest_.records[i];
      if (record.state == State::Applied && !record.replaced.empty() && !is_git_record(record) &&
          is_selected(record, paths)) {
        todo_.push_back(i);
      }
    }
    plan_git_back(paths);
    if (todo_.empty() && std::ranges::none_of(git_, &StageGit::has_work)) {
      tell_refused();
      return std::move(taken_);
    }
    CORDON_TRY(word, new_word());
    manifest_.pending = std::move(word);
    CORDON_CHECK(write_manifest(handoff_, manifest_));
    lock_git();
    undo();
    for (StageGit& git : git_) {
      git.commit(durable_);
      git.write_merge_refs(durable_);
      taken_.done += git.settle_restored();
    }
    tell_refused();
    return end();
  }

  Result<void> open() {
    for (const StagedRoot& root : stage_.record().roots) {
      const auto seen = inspect_path(root.path);
      if (!seen || seen->id != root.id) {
        return fail(setup_error(
            quote(root.path) + " is not the directory any more that the run worked on", ESTALE,
            "move the directory back; what the run changed lies in " + quote(root.upper)));
      }
    }
    CORDON_TRY(replaced, open_private_directory(replaced_place()));
    replaced_ = std::move(replaced);
    return {};
  }

  // What a batch before left: found out by looking, for every change that was under way.
  Result<void> finish() {
    if (manifest_.pending.empty()) return {};
    auto files = StageGit::Batch::Whole;
    // From the inside out: a directory that was made for nothing is empty when its turn comes.
    for (std::size_t i = manifest_.records.size(); i-- > 0;) {
      ChangeRecord& record = manifest_.records[i];
      if (record.replaced.empty() || is_git_record(record)) continue;
      const auto spot = spot_of(record.path);
      if (spot) (void)remove_tree(spot->above.get(), beside(i));
      if (record.state == State::Applied) {
        // Of a restore that was cut off. What is neither old nor new the person has changed since.
        if (has_old(record, spot) || came_back(record, spot)) {
          held_again(record, spot);
        } else {
          files = StageGit::Batch::Part;
        }
      } else if (record.state == State::Held) {
        const bool is_new = spot ? has_new(record, *spot) : record.change == Kind::Deleted;
        if (is_new || stays_made(record, spot)) {
          applied(record, spot);
        } else {
          drop_replaced(record);
          files = StageGit::Batch::Part;
        }
      }
    }
    for (auto& [directory, records] : git_records()) {
      StageGit(manifest_, stage_, directory, records, replaced_.get()).finish(files);
    }
    return note_end();
  }

 private:
  enum class Wish { Whatever, Named };

  [[nodiscard]] std::string replaced_place() const { return join(stage_.directory(), "replaced"); }
  [[nodiscard]] std::string beside(std::size_t index) const {
    return manifest_.pending + "-" + std::to_string(index);
  }
  static Result<std::string> new_word() {
    std::string word = unguessable_name();
    if (word.empty()) return fail(setup_error("there is no randomness", EIO));
    return word;
  }

  // The directory of the upper that holds what the run made of `path`.
  [[nodiscard]] std::optional<KeptSpot> kept_of(const ChangeRecord& record) const {
    for (const StagedRoot& root : stage_.record().roots) {
      if (root.path == record.path) {
        // The root itself, of which only the mode changes.
        KeptDirectory above = KeptDirectory::open(AT_FDCWD, std::string(parent(root.upper)));
        if (!above.valid()) return std::nullopt;
        return KeptSpot{std::move(above), std::string(basename(root.upper))};
      }
      if (!contains(root.path, record.path) || !contains(root.upper, record.kept)) continue;
      const KeptDirectory upper = KeptDirectory::open(AT_FDCWD, root.upper);
      if (!upper.valid()) return std::nullopt;
      const std::string_view below = std::string_view(record.path).substr(root.path.size() + 1);
      const std::size_t slash = below.rfind('/');
      KeptDirectory above = KeptDirectory::open_below(
          upper.get(), slash == std::string_view::npos ? "" : below.substr(0, slash));
      if (!above.valid()) return std::nullopt;
      return KeptSpot{std::move(above), std::string(basename(record.path))};
    }
    return std::nullopt;
  }

  // Whether the host has what the change makes of it.
  [[nodiscard]] bool has_new(const ChangeRecord& record, const Spot& spot) const {
    const auto there = lstat_at(spot.above.get(), spot.name);
    if (record.change == Kind::Deleted) return !there;
    const auto kept = kept_of(record);
    if (!there || !kept) return false;
    return is_equal(spot.above.get(), spot.name, kept->above.get(), kept->name);
  }

  // Whether the host has what it had before.
  [[nodiscard]] bool has_old(const ChangeRecord& record, const std::optional<Spot>& spot) const {
    if (record.replaced == kNothingThere) {
      return !spot || !lstat_at(spot->above.get(), spot->name);
    }
    return spot && is_equal(spot->above.get(), spot->name, replaced_.get(),
                            std::string(basename(record.replaced)));
  }

  // A directory that was made under its own name and does not have its mode yet. Empty, it goes,
  // and what stood there comes back; with something in it, it stays and gets its mode.
  bool stays_made(ChangeRecord& record, const std::optional<Spot>& spot) const {
    const auto there = spot ? lstat_at(spot->above.get(), spot->name) : std::nullopt;
    const auto kept = kept_of(record);
    const auto wanted = kept ? lstat_at(kept->above.get(), kept->name) : std::nullopt;
    if (!there || !wanted || !S_ISDIR(there->st_mode) || !S_ISDIR(wanted->st_mode)) return false;
    if (record.change != Kind::Added && record.change != Kind::Type) return false;
    if (::unlinkat(spot->above.get(), spot->name.c_str(), AT_REMOVEDIR) != 0) {
      (void)change_mode(spot->above.get(), spot->name, wanted->st_mode & kDirectoryBits);
      return true;
    }
    if (record.replaced != kNothingThere) {
      (void)copy_one(replaced_.get(), std::string(basename(record.replaced)), spot->above.get(),
                     spot->name);
      record.base = host_mark(spot->above.get(), spot->name);
    }
    return false;
  }

  // A directory that a restore made again and did not give its mode yet.
  [[nodiscard]] bool came_back(const ChangeRecord& record, const std::optional<Spot>& spot) const {
    if (record.change != Kind::Deleted || record.replaced == kNothingThere || !spot) return false;
    const auto before = lstat_at(replaced_.get(), std::string(basename(record.replaced)));
    const auto there = lstat_at(spot->above.get(), spot->name);
    if (!before || !there || !S_ISDIR(before->st_mode) || !S_ISDIR(there->st_mode)) return false;
    return change_mode(spot->above.get(), spot->name, before->st_mode & kDirectoryBits) == 0;
  }

  // A person names what waits for a reason: the path itself, something in it, or the object that is
  // protected; not a directory around it.
  static bool is_named(const ChangeRecord& record, const std::vector<std::string>& paths) {
    return std::ranges::any_of(paths, [&](const std::string& path) {
      return contains(path, record.path) && contains(record.top, path);
    });
  }

  // What can be taken of each git directory, by its path.
  [[nodiscard]] std::map<std::string, std::vector<std::size_t>> git_records() const {
    std::map<std::string, std::vector<std::size_t>> found;
    for (std::size_t i = 0; i < manifest_.records.size(); ++i) {
      if (!is_git_record(manifest_.records[i])) continue;
      const std::string& path = manifest_.records[i].path;
      std::string_view git;
      for (const StagedRepository& one : stage_.record().repositories) {
        if (contains(one.path, path) && one.path.size() > git.size()) git = one.path;
      }
      if (!git.empty()) found[std::string(git)].push_back(i);
    }
    return found;
  }

  [[nodiscard]] bool is_any_selected(const std::vector<std::size_t>& records, State state,
                                     const std::vector<std::string>& paths) const {
    return std::ranges::any_of(records, [&](std::size_t index) {
      const ChangeRecord& record = manifest_.records[index];
      return record.state == state && is_selected(record, paths);
    });
  }

  // A repository is taken as a whole. What stayed the last time is asked about anew: the host may
  // have changed.
  void plan_git(const std::vector<std::string>& paths) {
    for (auto& [directory, records] : git_records()) {
      if (!is_any_selected(records, State::Held, paths) &&
          !is_any_selected(records, State::Conflict, paths)) {
        continue;
      }
      for (const std::size_t index : records) {
        ChangeRecord& record = manifest_.records[index];
        if (record.state != State::Held && record.state != State::Conflict) continue;
        record.state = State::Held;
        record.reason.clear();
      }
      for (ChangeRecord& record : manifest_.records) {
        if (contains(parent(directory), record.path) && record.reason.starts_with(kCommitted)) {
          record.reason.clear();
          record.top = record.path;
        }
      }
      StageGit& git = git_.emplace_back(manifest_, stage_, directory, records, replaced_.get());
      git.plan(courier_);
    }
    for (const StageGit& git : git_) hold_committed(git);
  }

  // Files that are in commits which have to be merged come with them: as changes of the work tree
  // they would stand in the way of the merge.
  void hold_committed(const StageGit& git) {
    const std::string line = git.merge_of_checkout();
    if (git.moves_checkout() || line.empty()) return;
    for (ChangeRecord& record : manifest_.records) {
      const bool waits = record.state == State::Held || record.state == State::Conflict;
      if (waits && record.reason.empty() && git.committed().contains(record.path)) {
        record.state = State::Held;
        record.reason = std::string(kCommitted) + line;
      }
    }
    const auto is_held = [&](std::size_t index) {
      return git.committed().contains(manifest_.records[index].path);
    };
    for (const std::size_t index : todo_) {
      if (is_held(index) && !manifest_.pending.empty()) drop_beside(index);
    }
    std::erase_if(todo_, is_held);
  }

  // Nor is a directory made that was only for them.
  void drop_empty_directories() {
    for (std::size_t i = todo_.size(); i-- > 0;) {
      const ChangeRecord& record = manifest_.records[todo_[i]];
      if (record.change != Kind::Added || record.base != kAbsent) continue;
      const bool filled =
          i + 1 < todo_.size() && contains(record.path, manifest_.records[todo_[i + 1]].path);
      const bool emptied = std::ranges::any_of(git_, [&](const StageGit& git) {
        return !git.moves_checkout() && has_committed_below(git, record.path);
      });
      if (emptied && !filled) todo_.erase(todo_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  static bool has_committed_below(const StageGit& git, const std::string& path) {
    const auto next = git.committed().lower_bound(path + "/");
    return next != git.committed().end() && next->starts_with(path + "/");
  }

  // What was written for a change that is not taken after all.
  void drop_beside(std::size_t index) {
    ChangeRecord& record = manifest_.records[index];
    const auto spot = spot_of(record.path);
    if (spot) (void)remove_tree(spot->above.get(), beside(index));
    drop_replaced(record);
  }

  // What is checked out moves only if every file that is in the commits does.
  void let_files_decide() {
    const std::set<std::size_t> going(todo_.begin(), todo_.end());
    for (StageGit& git : git_) {
      if (!git.moves_checkout()) continue;
      std::string stays;
      for (const std::string& path : git.committed()) {
        const ChangeRecord* record = find(path);
        if (record == nullptr || record->state == State::Applied) continue;
        const auto index = static_cast<std::size_t>(record - manifest_.records.data());
        if (!going.contains(index)) stays += (stays.empty() ? "" : ", ") + quote(path);
      }
      if (stays.empty()) continue;
      git.leave_checkout("the work tree cannot follow: " + stays);
      hold_committed(git);
    }
  }

  void lock_git() {
    for (StageGit& git : git_) {
      git.lock();
      if (!git.moves_checkout() && back_.contains(&git)) {
        std::erase_if(todo_, [&](std::size_t index) {
          return git.committed().contains(manifest_.records[index].path);
        });
      }
    }
  }

  void plan_git_back(const std::vector<std::string>& paths) {
    for (auto& [directory, records] : git_records()) {
      if (!is_any_selected(records, State::Applied, paths)) continue;
      git_.emplace_back(manifest_, stage_, directory, records, replaced_.get()).plan_back();
    }
    for (StageGit& git : git_) {
      back_.insert(&git);
      // With the files, and with all of them or none.
      std::vector<std::size_t> files;
      bool changed = false;
      for (const std::string& path : git.committed()) {
        const ChangeRecord* record = find(path);
        if (record == nullptr || record->state != State::Applied) continue;
        const auto spot = spot_of(path);
        const std::string now = spot ? host_mark(spot->above.get(), spot->name) : kAbsent;
        if (record->replaced.empty() || now != record->put) changed = true;
        files.push_back(static_cast<std::size_t>(record - manifest_.records.data()));
      }
      if (git.moves_checkout() && changed) {
        git.leave_checkout("files of these commits have changed since");
      }
      std::set<std::size_t> all(todo_.begin(), todo_.end());
      for (const std::size_t index : files) {
        if (git.moves_checkout()) {
          all.insert(index);
        } else {
          all.erase(index);
        }
      }
      todo_.assign(all.begin(), all.end());
    }
  }

  void settle_git() {
    for (StageGit& git : git_) taken_.done += git.settle_applied();
    tell_refused();
  }

  void tell_refused() {
    for (const StageGit& git : git_) {
      for (auto& [path, reason] : git.refused()) taken_.refused.push_back({path, reason});
    }
  }

  void choose(const std::vector<std::string>& paths) {
    std::vector<ChangeRecord>& records = manifest_.records;
    std::vector<bool> chosen(records.size(), false);
    const auto comes_along = [&](const ChangeRecord& record) {
      return std::ranges::any_of(git_, [&](const StageGit& git) {
        return git.moves_checkout() && git.committed().contains(record.path);
      });
    };
    for (std::size_t i = 0; i < records.size(); ++i) {
      const ChangeRecord& record = records[i];
      if (is_git_record(record)) continue;
      if (record.state != State::Held && record.state != State::Conflict) continue;
      if (!is_selected(record, paths) && !comes_along(record)) continue;
      if (!record.reason.empty() && !is_named(record, paths)) continue;
      if (is_never_applied(record.reason)) {
        taken_.refused.push_back({record.path, record.reason});
        continue;
      }
      chosen[i] = true;
    }
    // With the directories that were made for it. One that waits for its name keeps it waiting too.
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (!chosen[i] || records[i].change == Kind::Deleted) continue;
      const std::vector<std::size_t> above = made_above(records[i].path);
      const auto waits = [&](std::size_t parent) {
        return !records[parent].reason.empty() && !is_named(records[parent], paths);
      };
      if (std::ranges::any_of(above, waits)) {
        chosen[i] = false;
        continue;
      }
      for (const std::size_t parent : above) chosen[parent] = true;
    }
    for (std::size_t i = 0; i < records.size(); ++i)
      if (chosen[i]) todo_.push_back(i);
  }

  // Drops from the batch what the host has changed, and what it has already. A person who has moved
  // her own version away and names the path wants the run's: there is nothing to overwrite.
  void judge(Wish wish) {
    std::vector<std::size_t> left;
    std::set<std::string, std::less<>> made;  // directories of this batch
    for (const std::size_t index : todo_) {
      ChangeRecord& record = manifest_.records[index];
      const auto spot = spot_of(record.path);
      // The host came to the same by itself: there is nothing that a restore could undo.
      if (spot ? has_new(record, *spot) : record.change == Kind::Deleted) {
        applied(record, spot);
        ++taken_.done;
        continue;
      }
      const bool puts = record.change != Kind::Deleted && record.change != Kind::Mode;
      const bool in_made = record.base == kAbsent && made.contains(parent(record.path));
      const bool is_free = in_made || (spot && !lstat_at(spot->above.get(), spot->name));
      if (wish == Wish::Named && puts && is_free) {
        record.base = kAbsent;
        record.state = State::Held;
      }
      if (record.state == State::Conflict || !(in_made || is_as_before(record, spot))) {
        record.state = State::Conflict;
        taken_.conflicts.push_back(record.path);
        continue;
      }
      if (record.change == Kind::Added || record.change == Kind::Type) made.insert(record.path);
      left.push_back(index);
    }
    todo_ = std::move(left);
  }

  // A directory is not removed while something in it stays.
  void bar_parents() {
    std::set<std::size_t> going(todo_.begin(), todo_.end());
    std::set<std::string, std::less<>> staying;
    for (std::size_t i = manifest_.records.size(); i-- > 0;) {
      const ChangeRecord& record = manifest_.records[i];
      if (record.change != Kind::Deleted && record.change != Kind::Type) continue;
      const bool waits = record.state == State::Held || record.state == State::Conflict;
      if (staying.contains(record.path)) going.erase(i);
      if (!waits || going.contains(i)) continue;
      for (std::string_view up = parent(record.path); up != "/"; up = parent(up)) {
        if (!staying.insert(std::string(up)).second) break;
      }
    }
    // What was to stand in the place of such a directory waits with it.
    std::erase_if(todo_, [&](std::size_t index) {
      if (!going.contains(index)) return true;
      for (std::string_view up = parent(manifest_.records[index].path); up != "/";
           up = parent(up)) {
        if (staying.contains(up) && is_type_change(up)) return true;
      }
      return false;
    });
  }

  [[nodiscard]] bool is_type_change(std::string_view path) const {
    const ChangeRecord* record = find(path);
    return record != nullptr && record->change == Kind::Type;
  }

  // The records are sorted by path.
  [[nodiscard]] const ChangeRecord* find(std::string_view path) const {
    const auto found = std::ranges::lower_bound(manifest_.records, path, {}, &ChangeRecord::path);
    return found != manifest_.records.end() && found->path == path ? &*found : nullptr;
  }

  // Directories above `path` that are not there yet, or are no directories yet.
  [[nodiscard]] std::vector<std::size_t> made_above(std::string_view path) const {
    std::vector<std::size_t> above;
    for (std::string_view up = parent(path); up != "/"; up = parent(up)) {
      const ChangeRecord* record = find(up);
      if (record == nullptr) continue;
      const bool waits = record->state == State::Held || record->state == State::Conflict;
      const bool makes = record->change == Kind::Added || record->change == Kind::Type;
      if (waits && makes) {
        above.push_back(static_cast<std::size_t>(record - manifest_.records.data()));
      }
    }
    return above;
  }

  Result<void> carry_out() {
    CORDON_CHECK(begin());
    CORDON_CHECK(keep_replaced());
    CORDON_CHECK(make_beside());
    for (StageGit& git : git_) {
      CORDON_CHECK(git.put_objects(std::string(parent(handoff_)), durable_));
    }
    CORDON_CHECK(synced());
    lock_git();
    for (const StageGit& git : git_) hold_committed(git);
    bar_parents();
    CORDON_CHECK(put_in_place());
    CORDON_CHECK(synced());
    return move_git();
  }

  // The work tree is in place. A file that changed in the last moment keeps the checkout back.
  Result<void> move_git() {
    for (StageGit& git : git_) {
      std::string stays;
      for (const std::string& path : git.committed()) {
        const ChangeRecord* record = find(path);
        if (record != nullptr && record->state == State::Conflict) stays = path;
      }
      if (git.moves_checkout() && !stays.empty()) {
        git.leave_checkout("the work tree cannot follow: " + quote(stays));
      }
      git.commit(durable_);
      git.write_merge_refs(durable_);
    }
    settle_git();
    return {};
  }

  Result<void> begin() {
    CORDON_TRY(word, new_word());
    manifest_.pending = std::move(word);
    for (const std::size_t index : todo_) {
      ChangeRecord& record = manifest_.records[index];
      record.replaced = record.base == kAbsent ? std::string(kNothingThere)
                                               : join(replaced_place(), beside(index).substr(1));
    }
    for (StageGit& git : git_) CORDON_CHECK(git.note_begin(durable_));
    return write_manifest(handoff_, manifest_);
  }

  Result<void> keep_replaced() {
    for (const std::size_t index : todo_) {
      const ChangeRecord& record = manifest_.records[index];
      if (record.replaced == kNothingThere) continue;
      const auto spot = spot_of(record.path);
      const std::string as(basename(record.replaced));
      const int error = spot ? copy_one(spot->above.get(), spot->name, replaced_.get(), as) : errno;
      if (error != 0) return fail(cannot_take("keep what stands at", record.path, error));
      durable_.file(replaced_.get(), as);
    }
    durable_.directory(replaced_.get());
    return synced();
  }

  Result<void> synced() {
    const int error = durable_.sync();
    if (error == 0) return {};
    return fail(setup_error("cannot make durable what is being applied", error));
  }

  // Directories under their own names, since files are written into them, also in the place of what
  // was no directory: that was kept. Everything else beside its place.
  Result<void> make_beside() {
    for (const std::size_t index : todo_) {
      ChangeRecord& record = manifest_.records[index];
      if (record.change == Kind::Deleted || record.change == Kind::Mode) continue;
      const auto kept = kept_of(record);
      const auto spot = spot_of(record.path);
      if (!kept || !spot) return fail(cannot_take("open the directory of", record.path, errno));
      const auto status = lstat_at(kept->above.get(), kept->name);
      if (!status) return fail(cannot_take("read the run's version of", record.path, errno));
      const bool directory = S_ISDIR(status->st_mode) && record.change == Kind::Added;
      const std::string as = directory ? spot->name : beside(index);
      int error = copy_one(kept->above.get(), kept->name, spot->above.get(), as);
      if (error == 0 && S_ISDIR(status->st_mode)) {
        error = change_mode(spot->above.get(), as, S_IRWXU);  // its own comes last
      }
      if (error != 0) return fail(cannot_take("write", record.path, error));
      if (S_ISDIR(status->st_mode) && record.change == Kind::Type) rename(index);
      if (S_ISREG(status->st_mode)) durable_.file(spot->above.get(), as);
      durable_.directory(spot->above.get());
    }
    return synced();
  }

  Result<void> put_in_place() {
    // What was deleted makes room, the innermost first.
    for (auto index = todo_.rbegin(); index != todo_.rend(); ++index) {
      if (manifest_.records[*index].change == Kind::Deleted) remove(*index);
    }
    for (const std::size_t index : todo_) {
      const ChangeRecord& record = manifest_.records[index];
      const bool put = record.change != Kind::Deleted && record.change != Kind::Mode;
      if (put && record.state != State::Conflict) rename(index);
    }
    // From the inside out: a directory that nobody may enter closes behind what was put into it.
    for (auto index = todo_.rbegin(); index != todo_.rend(); ++index) {
      set_mode(*index);
      ChangeRecord& record = manifest_.records[*index];
      if (record.state == State::Conflict) continue;
      applied(record, spot_of(record.path));
      ++taken_.done;
    }
    return {};
  }

  void conflict(ChangeRecord& record) {
    record.state = State::Conflict;
    drop_replaced(record);
    taken_.conflicts.push_back(record.path);
  }

  // Still what was compared.
  static bool is_as_before(const ChangeRecord& record, const std::optional<Spot>& spot) {
    return spot && host_mark(spot->above.get(), spot->name) == record.base;
  }

  void remove(std::size_t index) {
    ChangeRecord& record = manifest_.records[index];
    const auto spot = spot_of(record.path);
    if (!is_as_before(record, spot)) return conflict(record);
    const bool directory = record.base.starts_with("directory");
    // A directory that the host has put something into stays.
    if (::unlinkat(spot->above.get(), spot->name.c_str(), directory ? AT_REMOVEDIR : 0) != 0) {
      return conflict(record);
    }
    durable_.directory(spot->above.get());
  }

  void rename(std::size_t index) {
    ChangeRecord& record = manifest_.records[index];
    const auto spot = spot_of(record.path);
    const std::string between = beside(index);
    // A directory, which is there.
    if (spot && !lstat_at(spot->above.get(), between)) return;
    const bool fresh = record.base == kAbsent;
    const bool same =
        fresh ? spot && !lstat_at(spot->above.get(), spot->name) : is_as_before(record, spot);
    unsigned how = record.change == Kind::Type ? RENAME_EXCHANGE : 0U;
    if (fresh) how = RENAME_NOREPLACE;
    if (!same || ::renameat2(spot->above.get(), between.c_str(), spot->above.get(),
                             spot->name.c_str(), how) != 0) {
      if (spot) (void)remove_tree(spot->above.get(), between);
      return conflict(record);
    }
    if (how == RENAME_EXCHANGE && !drop_exchanged(*spot, between)) return conflict(record);
    durable_.directory(spot->above.get());
  }

  // What was exchanged was copied before. A directory is empty by now; or somebody filled it, and
  // then everything is as it was.
  static bool drop_exchanged(const Spot& spot, const std::string& between) {
    if (::unlinkat(spot.above.get(), between.c_str(), 0) == 0 ||
        ::unlinkat(spot.above.get(), between.c_str(), AT_REMOVEDIR) == 0) {
      return true;
    }
    (void)::renameat2(spot.above.get(), between.c_str(), spot.above.get(), spot.name.c_str(),
                      RENAME_EXCHANGE);
    (void)remove_tree(spot.above.get(), between);
    return false;
  }

  void set_mode(std::size_t index) {
    ChangeRecord& record = manifest_.records[index];
    if (record.state == State::Conflict || record.change == Kind::Deleted) return;
    const auto kept = kept_of(record);
    const auto spot = spot_of(record.path);
    const auto status = kept ? lstat_at(kept->above.get(), kept->name) : std::nullopt;
    if (!status || !spot) return;
    const bool directory = S_ISDIR(status->st_mode);
    if (record.change != Kind::Mode && !directory) return;
    if (record.change == Kind::Mode && !is_as_before(record, spot)) return conflict(record);
    (void)change_mode(spot->above.get(), spot->name,
                      status->st_mode & (directory ? kDirectoryBits : kFileBits));
    if (record.change != Kind::Mode && directory) {
      const std::array<timespec, 2> times{status->st_atim, status->st_mtim};
      (void)::utimensat(spot->above.get(), spot->name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW);
    }
    durable_.directory(spot->above.get());
  }

  static void applied(ChangeRecord& record, const std::optional<Spot>& spot) {
    record.state = State::Applied;
    record.put = spot ? host_mark(spot->above.get(), spot->name) : std::string(kAbsent);
  }

  void held_again(ChangeRecord& record, const std::optional<Spot>& spot) {
    record.state = State::Held;
    record.base = spot ? host_mark(spot->above.get(), spot->name) : std::string(kAbsent);
    drop_replaced(record);
  }

  // The copy itself goes when the note says that nobody needs it.
  void drop_replaced(ChangeRecord& record) {
    if (record.replaced != kNothingThere && !record.replaced.empty()) {
      dropped_.emplace_back(basename(record.replaced));
    }
    record.replaced.clear();
    record.put.clear();
  }

  // The steps of put_in_place backwards: what was added goes, the innermost first; what was deleted
  // comes back, directories first; what was replaced is put beside its place and renamed.
  void undo() {
    for (auto index = todo_.rbegin(); index != todo_.rend(); ++index) {
      ChangeRecord& record = manifest_.records[*index];
      if (record.replaced != kNothingThere) continue;
      const auto spot = spot_of(record.path);
      if (!spot || host_mark(spot->above.get(), spot->name) != record.put) {
        taken_.conflicts.push_back(record.path);
        continue;
      }
      const bool directory = record.put.starts_with("directory");
      if (::unlinkat(spot->above.get(), spot->name.c_str(), directory ? AT_REMOVEDIR : 0) != 0) {
        taken_.conflicts.push_back(record.path);
        continue;
      }
      durable_.directory(spot->above.get());
      held_again(record, spot);
      ++taken_.done;
    }
    std::vector<std::size_t> modes;
    for (const std::size_t index : todo_) {
      ChangeRecord& record = manifest_.records[index];
      if (record.replaced.empty() || record.replaced == kNothingThere) continue;
      if (bring_back(index, modes)) continue;
      taken_.conflicts.push_back(record.path);
    }
    for (auto index = modes.rbegin(); index != modes.rend(); ++index) {
      ChangeRecord& record = manifest_.records[*index];
      const auto spot = spot_of(record.path);
      const auto before = lstat_at(replaced_.get(), std::string(basename(record.replaced)));
      if (spot && before) {
        const mode_t bits = S_ISDIR(before->st_mode) ? kDirectoryBits : kFileBits;
        (void)change_mode(spot->above.get(), spot->name, before->st_mode & bits);
      }
      held_again(record, spot);
      ++taken_.done;
    }
  }

  bool bring_back(std::size_t index, std::vector<std::size_t>& modes) {
    ChangeRecord& record = manifest_.records[index];
    const auto spot = spot_of(record.path);
    if (!spot || host_mark(spot->above.get(), spot->name) != record.put) return false;
    const std::string from(basename(record.replaced));
    const auto before = lstat_at(replaced_.get(), from);
    if (!before) return false;
    const bool directory = S_ISDIR(before->st_mode);
    if (record.change == Kind::Mode || (directory && record.change != Kind::Type)) {
      if (record.change == Kind::Deleted &&
          ::mkdirat(spot->above.get(), spot->name.c_str(), 0700) != 0) {
        return false;
      }
      modes.push_back(index);
      return true;
    }
    const std::string between = beside(index);
    if (copy_one(replaced_.get(), from, spot->above.get(), between) != 0) {
      (void)remove_tree(spot->above.get(), between);
      return false;
    }
    unsigned how = record.put == kAbsent ? RENAME_NOREPLACE : 0U;
    if (record.change == Kind::Type) how = RENAME_EXCHANGE;
    durable_.file(spot->above.get(), between);
    (void)durable_.sync();
    const bool done = ::renameat2(spot->above.get(), between.c_str(), spot->above.get(),
                                  spot->name.c_str(), how) == 0;
    if (!done) (void)remove_tree(spot->above.get(), between);
    if (!done || (how == RENAME_EXCHANGE && !drop_exchanged(*spot, between))) return false;
    durable_.directory(spot->above.get());
    held_again(record, spot);
    ++taken_.done;
    return true;
  }

  Result<void> note_end() {
    manifest_.pending.clear();
    CORDON_CHECK(write_manifest(handoff_, manifest_));
    for (const std::string& name : dropped_) (void)remove_tree(replaced_.get(), name);
    dropped_.clear();
    return {};
  }

  Result<Taken> end() {
    CORDON_CHECK(synced());
    CORDON_CHECK(note_end());
    // The pack is among the host's objects, or nobody wants it.
    (void)remove_private_tree(join(stage_.directory(), "git"));
    std::ranges::sort(taken_.conflicts);
    return std::move(taken_);
  }

  const std::string& handoff_;
  Manifest& manifest_;
  const Stage& stage_;
  GitCourier* courier_;
  Fd replaced_;
  std::deque<StageGit> git_;
  std::set<const StageGit*> back_;    // those that a restore moves
  std::vector<std::string> dropped_;  // names in `replaced`
  std::vector<std::size_t> todo_;     // of manifest_.records, sorted by path
  Taken taken_;
  Durable durable_;
};

}  // namespace

Result<Taken> apply_stage(const std::string& handoff, Manifest& manifest, const Stage& stage,
                          const std::vector<std::string>& paths, GitCourier* courier) {
  return Batch(handoff, manifest, stage, courier).apply(paths);
}

Result<Taken> restore_stage(const std::string& handoff, Manifest& manifest, const Stage& stage,
                            const std::vector<std::string>& paths) {
  return Batch(handoff, manifest, stage).restore(paths);
}

Result<Taken> discard_stage(const std::string& handoff, Manifest& manifest, const Stage& stage,
                            const std::vector<std::string>& paths) {
  CORDON_CHECK(finish_batch(handoff, manifest, stage));
  Taken taken;
  bool some_left = false;
  const auto waiting = [](const ChangeRecord& record) {
    return record.state == State::Held || record.state == State::Conflict;
  };
  // Of a run whose changes are all decided, what a restore would need is all that is left to drop.
  if (paths.empty() && std::ranges::none_of(manifest.records, waiting)) {
    for (ChangeRecord& record : manifest.records) {
      if (record.replaced.empty()) continue;
      record.replaced.clear();
      ++taken.done;
    }
    if (taken.done == 0) return taken;
    CORDON_CHECK(write_manifest(handoff, manifest));
    CORDON_CHECK(stage.remove());
    return taken;
  }
  for (ChangeRecord& record : manifest.records) {
    if (!waiting(record)) continue;
    if (!is_selected(record, paths)) {
      some_left = true;
      continue;
    }
    record.state = State::Discarded;
    ++taken.done;
  }
  if (taken.done == 0) return taken;
  CORDON_CHECK(write_manifest(handoff, manifest));
  if (!some_left) CORDON_CHECK(drop_uppers(stage));
  return taken;
}

Result<void> finish_batch(const std::string& handoff, Manifest& manifest, const Stage& stage) {
  if (manifest.pending.empty()) return {};
  Batch batch(handoff, manifest, stage);
  CORDON_CHECK(batch.open());
  return batch.finish();
}

}  // namespace cordon
