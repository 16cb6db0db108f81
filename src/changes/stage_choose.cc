// Which changes of a stage an apply or a restore takes.
#include "changes/stage_batch.h"

#include <algorithm>

#include "base/text.h"
#include "changes/stage_git_list.h"
#include "changes/stage_judge.h"
#include "host/tree_copy.h"

namespace cordon {

// A person names what waits for a reason: the path itself, something in it, or the object that is
// protected; not a directory around it.
bool StageBatch::is_named(const ChangeRecord& record, const std::vector<std::string>& paths) {
  return std::ranges::any_of(paths, [&](const std::string& path) {
    return contains(path, record.path) && contains(record.top, path);
  });
}

// What can be taken of each git directory, by its path.
std::map<std::string, std::vector<std::size_t>> StageBatch::git_records() const {
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

bool StageBatch::is_any_selected(const std::vector<std::size_t>& records, State state,
                                 const std::vector<std::string>& paths) const {
  return std::ranges::any_of(records, [&](std::size_t index) {
    const ChangeRecord& record = manifest_.records[index];
    return record.state == state && is_selected(record, paths);
  });
}

// A repository is taken as a whole. What stayed the last time is asked about anew: the host may
// have changed.
void StageBatch::plan_git(const std::vector<std::string>& paths) {
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
void StageBatch::hold_committed(const StageGit& git) {
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
    if (is_held(index) && !manifest_.pending.empty()) leave_out(index);
  }
  std::erase_if(todo_, is_held);
}

// Nor is a directory made that was only for them.
void StageBatch::drop_empty_directories() {
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

bool StageBatch::has_committed_below(const StageGit& git, const std::string& path) {
  const auto next = git.committed().lower_bound(path + "/");
  return next != git.committed().end() && next->starts_with(path + "/");
}

// What was written for a change that is not taken after all.
void StageBatch::leave_out(std::size_t index) {
  ChangeRecord& record = manifest_.records[index];
  drop_waiting(index, spot_of(record.path));
  drop_replaced(record);
}

// What is checked out moves only if every file that is in the commits does.
void StageBatch::let_files_decide() {
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

void StageBatch::lock_git() {
  for (StageGit& git : git_) {
    git.lock();
    if (!git.moves_checkout() && back_.contains(&git)) {
      std::erase_if(todo_, [&](std::size_t index) {
        return git.committed().contains(manifest_.records[index].path);
      });
    }
  }
}

void StageBatch::plan_git_back(const std::vector<std::string>& paths) {
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

void StageBatch::settle_git() {
  for (StageGit& git : git_) taken_.done += git.settle_applied();
  tell_refused();
}

void StageBatch::tell_refused() {
  for (const StageGit& git : git_) {
    for (auto& [path, reason] : git.refused()) taken_.refused.push_back({path, reason});
  }
}

void StageBatch::choose(const std::vector<std::string>& paths) {
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
void StageBatch::judge(Asked asked) {
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
    if (asked == Asked::ByName && puts && is_free) {
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
void StageBatch::bar_parents() {
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
    for (std::string_view up = parent(manifest_.records[index].path); up != "/"; up = parent(up)) {
      if (staying.contains(up) && is_type_change(up)) return true;
    }
    return false;
  });
}

bool StageBatch::is_type_change(std::string_view path) const {
  const ChangeRecord* record = find(path);
  return record != nullptr && record->change == Kind::Type;
}

// The records are sorted by path.
const ChangeRecord* StageBatch::find(std::string_view path) const {
  const auto found = std::ranges::lower_bound(manifest_.records, path, {}, &ChangeRecord::path);
  return found != manifest_.records.end() && found->path == path ? &*found : nullptr;
}

// Directories above `path` that are not there yet, or are no directories yet.
std::vector<std::size_t> StageBatch::made_above(std::string_view path) const {
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

}  // namespace cordon
