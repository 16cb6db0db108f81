// How the chosen changes of a stage get into the project, and back out of it.
#include "changes/stage_batch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "base/text.h"
#include "changes/stage_git_list.h"
#include "host/inspect.h"
#include "host/private_file.h"
#include "host/tree_copy.h"

namespace cordon {

namespace {

// Stands in `replaced` for: there was nothing.
constexpr const char* kNothingThere = "-";

Error cannot_take(const std::string& what, const std::string& path, int error_number) {
  return setup_error("cannot " + what + " " + quote(path), error_number);
}

}  // namespace

// What a batch before left: found out by looking, for every change that was under way.
Result<void> StageBatch::finish() {
  if (manifest_.pending.empty()) return {};
  auto files = StageGit::Batch::Whole;
  // From the inside out: a directory that was made for nothing is empty when its turn comes.
  for (std::size_t i = manifest_.records.size(); i-- > 0;) {
    ChangeRecord& record = manifest_.records[i];
    if (record.replaced.empty() || is_git_record(record)) continue;
    const auto spot = spot_of(record.path);
    drop_waiting(i, spot);
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

std::string StageBatch::waiting_name(std::size_t index) const {
  return manifest_.pending + "-" + std::to_string(index);
}

int StageBatch::git_place(const ChangeRecord& record, const Spot& spot) const {
  const std::vector<StagedRoot>& roots = stage_.record().roots;
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const int git = git_places_[i].get();
    if (!contains(roots[i].path, record.path) || !git_places_[i].valid()) continue;
    if (::faccessat(git, ".", W_OK | X_OK, AT_EACCESS) == 0 && makes_alike(git, spot.above.get())) {
      return git;
    }
  }
  return -1;
}

void StageBatch::drop_waiting(std::size_t index, const std::optional<Spot>& spot) const {
  const std::string name = waiting_name(index);
  for (const Fd& git : git_places_) {
    if (git.valid()) (void)remove_tree(git.get(), name);
  }
  if (spot) (void)remove_tree(spot->above.get(), name);
}

Result<std::string> StageBatch::new_word() {
  std::string word = unguessable_name();
  if (word.empty()) return fail(setup_error("there is no randomness", EIO));
  return word;
}

// The directory of the upper that holds what the run made of `path`.
std::optional<KeptSpot> StageBatch::kept_of(const ChangeRecord& record) const {
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
bool StageBatch::has_new(const ChangeRecord& record, const Spot& spot) const {
  const auto there = lstat_at(spot.above.get(), spot.name);
  if (record.change == Kind::Deleted) return !there;
  const auto kept = kept_of(record);
  if (!there || !kept) return false;
  return is_equal(spot.above.get(), spot.name, kept->above.get(), kept->name);
}

// Whether the host has what it had before.
bool StageBatch::has_old(const ChangeRecord& record, const std::optional<Spot>& spot) const {
  if (record.replaced == kNothingThere) {
    return !spot || !lstat_at(spot->above.get(), spot->name);
  }
  return spot && is_equal(spot->above.get(), spot->name, replaced_.get(),
                          std::string(basename(record.replaced)));
}

// A directory that was made under its own name and does not have its mode yet. Empty, it goes,
// and what stood there comes back; with something in it, it stays and gets its mode.
bool StageBatch::stays_made(ChangeRecord& record, const std::optional<Spot>& spot) const {
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
bool StageBatch::came_back(const ChangeRecord& record, const std::optional<Spot>& spot) const {
  if (record.change != Kind::Deleted || record.replaced == kNothingThere || !spot) return false;
  const auto before = lstat_at(replaced_.get(), std::string(basename(record.replaced)));
  const auto there = lstat_at(spot->above.get(), spot->name);
  if (!before || !there || !S_ISDIR(before->st_mode) || !S_ISDIR(there->st_mode)) return false;
  return change_mode(spot->above.get(), spot->name, before->st_mode & kDirectoryBits) == 0;
}

Result<void> StageBatch::carry_out() {
  CORDON_CHECK(begin());
  CORDON_CHECK(keep_replaced());
  CORDON_CHECK(make_waiting());
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
Result<void> StageBatch::move_git() {
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

Result<void> StageBatch::begin() {
  CORDON_TRY(word, new_word());
  manifest_.pending = std::move(word);
  for (const std::size_t index : todo_) {
    ChangeRecord& record = manifest_.records[index];
    record.replaced = record.base == kAbsent
                          ? std::string(kNothingThere)
                          : join(replaced_place(), waiting_name(index).substr(1));
  }
  for (StageGit& git : git_) CORDON_CHECK(git.note_begin(durable_));
  return write_manifest(handoff_, manifest_);
}

Result<void> StageBatch::keep_replaced() {
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

Result<void> StageBatch::synced() {
  const int error = durable_.sync();
  if (error == 0) return {};
  return fail(setup_error("cannot make durable what is being applied", error));
}

// Directories under their own names, since files are written into them, also in the place of what
// was no directory: that was kept. Everything else where it waits.
Result<void> StageBatch::make_waiting() {
  for (const std::size_t index : todo_) {
    ChangeRecord& record = manifest_.records[index];
    if (record.change == Kind::Deleted || record.change == Kind::Mode) continue;
    const auto kept = kept_of(record);
    const auto spot = spot_of(record.path);
    if (!kept || !spot) return fail(cannot_take("open the directory of", record.path, errno));
    const auto status = lstat_at(kept->above.get(), kept->name);
    if (!status) return fail(cannot_take("read the run's version of", record.path, errno));
    const bool directory = S_ISDIR(status->st_mode) && record.change == Kind::Added;
    const int git = directory ? -1 : git_place(record, *spot);
    const int into = git >= 0 ? git : spot->above.get();
    const std::string as = directory ? spot->name : waiting_name(index);
    if (!directory) waiting_.emplace(index, git);
    int error = copy_one(kept->above.get(), kept->name, into, as);
    if (error == 0 && S_ISDIR(status->st_mode)) {
      error = change_mode(into, as, S_IRWXU);  // its own comes last
    }
    if (error != 0) return fail(cannot_take("write", record.path, error));
    if (S_ISDIR(status->st_mode) && record.change == Kind::Type) rename(index);
    if (S_ISREG(status->st_mode)) durable_.file(into, as);
    durable_.directory(into);
  }
  return synced();
}

Result<void> StageBatch::put_in_place() {
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

void StageBatch::conflict(ChangeRecord& record) {
  record.state = State::Conflict;
  drop_replaced(record);
  taken_.conflicts.push_back(record.path);
}

// Still what was compared.
bool StageBatch::is_as_before(const ChangeRecord& record, const std::optional<Spot>& spot) {
  return spot && host_mark(spot->above.get(), spot->name) == record.base;
}

void StageBatch::remove(std::size_t index) {
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

void StageBatch::rename(std::size_t index) {
  ChangeRecord& record = manifest_.records[index];
  const auto found = waiting_.extract(index);
  if (found.empty()) return;  // a directory, which is there
  const auto spot = spot_of(record.path);
  const bool same = record.base == kAbsent ? spot && !lstat_at(spot->above.get(), spot->name)
                                           : is_as_before(record, spot);
  if (same && move_in(index, found.mapped(), *spot)) return;
  drop_waiting(index, spot);
  conflict(record);
}

bool StageBatch::move_in(std::size_t index, int git, const Spot& spot) {
  const ChangeRecord& record = manifest_.records[index];
  const std::string waiting = waiting_name(index);
  const int place = git >= 0 ? git : spot.above.get();
  const bool exchange = record.change == Kind::Type;
  const unsigned over = exchange ? RENAME_EXCHANGE : 0U;
  const bool nothing_there = (record.state == State::Applied ? record.put : record.base) == kAbsent;
  const auto rename = [&] {
    return ::renameat2(place, waiting.c_str(), spot.above.get(), spot.name.c_str(),
                       nothing_there ? RENAME_NOREPLACE : over) == 0;
  };
  if (!rename()) return false;
  if (exchange && ::unlinkat(place, waiting.c_str(), 0) != 0 &&
      ::unlinkat(place, waiting.c_str(), AT_REMOVEDIR) != 0) {
    (void)rename();
    return false;
  }
  durable_.directory(spot.above.get());
  if (git >= 0) durable_.directory(git);
  return true;
}

void StageBatch::set_mode(std::size_t index) {
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

void StageBatch::applied(ChangeRecord& record, const std::optional<Spot>& spot) {
  record.state = State::Applied;
  record.put = spot ? host_mark(spot->above.get(), spot->name) : std::string(kAbsent);
}

void StageBatch::held_again(ChangeRecord& record, const std::optional<Spot>& spot) {
  record.state = State::Held;
  record.base = spot ? host_mark(spot->above.get(), spot->name) : std::string(kAbsent);
  drop_replaced(record);
}

// The copy itself goes when the note says that nobody needs it.
void StageBatch::drop_replaced(ChangeRecord& record) {
  if (record.replaced != kNothingThere && !record.replaced.empty()) {
    dropped_.emplace_back(basename(record.replaced));
  }
  record.replaced.clear();
  record.put.clear();
}

// The steps of put_in_place backwards: what was added goes, the innermost first; what was deleted
// comes back, directories first; what was replaced waits as a copy and is renamed.
void StageBatch::undo() {
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

bool StageBatch::bring_back(std::size_t index, std::vector<std::size_t>& modes) {
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
  const int git = git_place(record, *spot);
  const int place = git >= 0 ? git : spot->above.get();
  const std::string waiting = waiting_name(index);
  bool done = copy_one(replaced_.get(), from, place, waiting) == 0;
  if (done) {
    durable_.file(place, waiting);
    (void)durable_.sync();
    done = move_in(index, git, *spot);
  }
  if (!done) {
    drop_waiting(index, spot);
    return false;
  }
  held_again(record, spot);
  ++taken_.done;
  return true;
}

Result<void> StageBatch::note_end() {
  manifest_.pending.clear();
  CORDON_CHECK(write_manifest(handoff_, manifest_));
  for (const std::string& name : dropped_) (void)remove_tree(replaced_.get(), name);
  dropped_.clear();
  return {};
}

Result<Taken> StageBatch::end() {
  CORDON_CHECK(synced());
  CORDON_CHECK(note_end());
  // The pack is among the host's objects, or nobody wants it.
  (void)remove_private_tree(join(stage_.directory(), "git"));
  std::ranges::sort(taken_.conflicts);
  return std::move(taken_);
}

}  // namespace cordon
