// The steps of StageGit that change the host's repository: objects, locks, refs, index.
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/path.h"
#include "base/text.h"
#include "changes/stage_git.h"
#include "changes/written_tips.h"
#include "host/inspect.h"
#include "host/tree_copy.h"

namespace cordon {
namespace {

constexpr const char* kRefMoved = "git";
constexpr int kMostWaits = 100;
constexpr timespec kBetweenWaits{0, 20'000'000};
constexpr unsigned kObjectMode = 0444;
constexpr unsigned kPlainMode = 0666;
constexpr std::size_t kMostCompared = std::size_t{256} * 1024 * 1024;

std::string lock_of(const std::string& target) { return std::string(basename(target)) + ".lock"; }

// The directory of `target` below a git directory, made as far as it is missing. Follows nothing.
Fd open_place_of(int directory, const std::string& target) {
  Fd at(::openat(directory, ".", kOpenDirectory));
  const std::size_t slash = target.rfind('/');
  if (slash == std::string::npos) return at;
  struct stat above {};
  for (const std::string_view part : components(std::string_view(target).substr(0, slash))) {
    const std::string name(part);
    if (!at.valid() || ::fstat(at.get(), &above) != 0) return {};
    const bool made = ::mkdirat(at.get(), name.c_str(), 0777) == 0;
    if (made && ::geteuid() == 0 &&
        ::fchownat(at.get(), name.c_str(), above.st_uid, above.st_gid, AT_SYMLINK_NOFOLLOW) != 0) {
      return {};
    }
    at = Fd(::openat(at.get(), name.c_str(), kOpenDirectory));
  }
  return at;
}

// The same, of what is there.
Fd find_place_of(int directory, const std::string& target) {
  const std::size_t slash = target.rfind('/');
  if (slash == std::string::npos) return Fd(::openat(directory, ".", kOpenDirectory));
  return open_beneath(directory, std::string_view(target).substr(0, slash),
                      O_RDONLY | O_DIRECTORY | O_NONBLOCK);
}

std::string zeros_like(const std::string& id) { return std::string(id.size(), '0'); }

}  // namespace

std::string StageGit::own_name(const Step& step) const {
  return manifest_.pending + "-git" + std::to_string(step.record);
}
std::string StageGit::own_index_name() const {
  return manifest_.pending + "-index" + std::to_string(records_.front());
}
std::string StageGit::list_name() const { return "git-" + std::to_string(records_.front()); }

// Whoever owns the repository owns what is put there. 0 or errno.
int StageGit::give(int file, unsigned mode) const {
  struct stat status {};
  if (::fstat(directory_.get(), &status) != 0) return errno;
  if (::geteuid() == 0 && ::fchown(file, status.st_uid, status.st_gid) != 0) return errno;
  return ::fchmod(file, mode) == 0 ? 0 : errno;
}

// Makes a file at the top of the git directory, with the mode of `like`. 0 or errno.
int StageGit::write_own(const std::string& name, const std::string& content, const char* like) {
  const Fd file(::openat(directory_.get(), name.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid()) return errno;
  if (const int error = write_whole(file.get(), content); error != 0) return error;
  auto model = lstat_at(directory_.get(), like);
  if (!model) model = lstat_at(directory_.get(), "HEAD");
  const unsigned mode = model && S_ISREG(model->st_mode) ? model->st_mode & kPlainMode : 0644U;
  if (const int error = give(file.get(), mode); error != 0) return error;
  return ::fsync(file.get()) == 0 ? 0 : errno;
}

Result<void> StageGit::note_begin(Durable& durable) {
  bool keeps = false;
  for (const Step& step : steps_) {
    if (!step.why.empty() || step.is_there) continue;
    manifest_.records[step.record].replaced = kRefMoved;
    keeps = keeps || is_carrier(step);
  }
  if (!keeps) return {};
  std::string text;
  add_field(text, changes_.size());
  for (const GitTreeChange& change : changes_) {
    for (const std::string* part : {&change.path, &change.before.mode, &change.before.id,
                                    &change.after.mode, &change.after.id}) {
      add_field(text, *part);
    }
  }
  (void)::unlinkat(replaced_, list_name().c_str(), 0);
  const Fd file(::openat(replaced_, list_name().c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  const int error = file.valid() ? write_whole(file.get(), text) : errno;
  if (error != 0) return fail(setup_error("cannot note what is checked out before", error));
  durable.file(replaced_, list_name());
  durable.directory(replaced_);
  return {};
}

int StageGit::put_pack_file(const char* from, int into, const std::string& name) {
  const Fd source(::open(join(pack_place(), from).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!source.valid()) return errno;
  const std::string between = manifest_.pending + "-" + from;
  const Fd target(
      ::openat(into, between.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!target.valid()) return errno;
  int error = copy_bytes(source.get(), target.get());
  if (error == 0) error = give(target.get(), kObjectMode);
  if (error == 0 && ::fsync(target.get()) != 0) error = errno;
  if (error == 0 && ::renameat2(into, between.c_str(), into, name.c_str(), RENAME_NOREPLACE) != 0) {
    error = errno == EEXIST ? 0 : errno;
  }
  (void)::unlinkat(into, between.c_str(), 0);
  return error;
}

Result<void> StageGit::put_objects(const std::string& state_directory, Durable& durable) {
  if (!is_brought_ || !has_work()) return {};
  // Before the first ref leads to them: what a run committed is never taken for the person's own.
  std::set<std::string> written;
  for (const Step& step : steps_) {
    if (is_object_id(step.move.after)) written.insert(step.move.after);
  }
  CORDON_CHECK(WrittenTips::add(state_directory, written, {}));
  if (!brought_.has_pack) return {};
  const Fd into = open_place_of(directory_.get(), "objects/pack/x");
  const Fd pack(::open(join(pack_place(), "pack").c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  const std::size_t digest = commit_after_.size() == 64 ? 32 : 20;
  std::string trailer(digest, '\0');
  struct stat status {};
  int error = !into.valid() || !pack.valid() || ::fstat(pack.get(), &status) != 0 ? errno : 0;
  if (error == 0 &&
      ::pread(pack.get(), trailer.data(), digest, status.st_size - static_cast<off_t>(digest)) !=
          static_cast<ssize_t>(digest)) {
    error = EIO;
  }
  std::string name = "pack-";
  for (const char c : trailer) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    name += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  // The index comes last: without it git does not look at the pack.
  if (error == 0) error = put_pack_file("pack", into.get(), name + ".pack");
  if (error == 0) error = put_pack_file("idx", into.get(), name + ".idx");
  if (error != 0) {
    return fail(
        setup_error("cannot put commits into " + quote(join(path_, "objects/pack")), error));
  }
  durable.directory(into.get());
  return {};
}

bool StageGit::is_our_lock(const std::string& own, const std::string& target) const {
  const Fd place = find_place_of(directory_.get(), target);
  const auto first = lstat_at(directory_.get(), own);
  const auto second = place.valid() ? lstat_at(place.get(), lock_of(target)) : std::nullopt;
  return first && second && first->st_dev == second->st_dev && first->st_ino == second->st_ino;
}

// As git does it: the lock cannot be made if there is one. Git holds them for a moment.
bool StageGit::take_lock(const std::string& own, const std::string& target) {
  const Fd place = open_place_of(directory_.get(), target);
  if (!place.valid()) return false;
  for (int i = 0; i < kMostWaits; ++i) {
    if (::linkat(directory_.get(), own.c_str(), place.get(), lock_of(target).c_str(), 0) == 0) {
      return true;
    }
    if (errno != EEXIST) return false;
    (void)::nanosleep(&kBetweenWaits, nullptr);
  }
  return false;
}

void StageGit::drop_lock(const std::string& own, const std::string& target) {
  if (is_our_lock(own, target)) {
    const Fd place = find_place_of(directory_.get(), target);
    if (place.valid()) (void)::unlinkat(place.get(), lock_of(target).c_str(), 0);
  }
  (void)::unlinkat(directory_.get(), own.c_str(), 0);
}

bool StageGit::move_lock(const std::string& own, const std::string& target, bool removes) {
  if (!is_our_lock(own, target)) return false;
  const Fd place = find_place_of(directory_.get(), target);
  const std::string name(basename(target));
  if (removes) {
    if (::unlinkat(place.get(), name.c_str(), 0) != 0 && errno != ENOENT) return false;
    return ::unlinkat(place.get(), lock_of(target).c_str(), 0) == 0;
  }
  const auto rename = [&] {
    return ::renameat(place.get(), lock_of(target).c_str(), place.get(), name.c_str()) == 0;
  };
  if (rename()) return true;
  // Where branches below that name were, git leaves empty directories.
  return errno == EISDIR && ::unlinkat(place.get(), name.c_str(), AT_REMOVEDIR) == 0 && rename();
}

void StageGit::drop_checkout_locks() {
  for (Step& step : steps_) {
    if (!is_carrier(step) || !step.locked) continue;
    drop_lock(own_name(step), step.name);
    step.locked = false;
  }
  if (index_locked_) drop_lock(own_index_name(), "index");
  index_locked_ = false;
}

std::string StageGit::now_value(const Step& step, const GitRefs& now) const {
  return step.name == "HEAD" ? now.head : ref_value(now.refs, step.name).value_or("");
}

bool StageGit::is_as_planned(const Step& step, const GitRefs& now) const {
  return now.told && now_value(step, now) == step.move.before;
}

void StageGit::lock() {
  const std::string why = "somebody else is at work there, or has moved it meanwhile";
  const auto fails = [&](Step& step) {
    if (step.locked) drop_lock(own_name(step), step.name);
    step.locked = false;
    step.by_host = true;
    if (!is_carrier(step)) {
      step.why = why;
      return name_merge_refs();
    }
    drop_checkout_locks();
    leave_checkout(why);
  };
  for (Step& step : steps_) {
    if (!step.why.empty() || step.is_there) continue;
    const std::string content = step.move.after.empty() ? std::string() : step.move.after + "\n";
    step.locked = write_own(own_name(step), content, "HEAD") == 0;
    if (step.locked && !take_lock(own_name(step), step.name)) {
      (void)::unlinkat(directory_.get(), own_name(step).c_str(), 0);
      step.locked = false;
    }
    if (!step.locked) fails(step);
  }
  const GitRefs now = read_git_refs(path_);
  for (Step& step : steps_) {
    if (step.locked && !is_as_planned(step, now)) fails(step);
  }
  if (!moves_checkout_) return;
  if (index_after_) {
    index_locked_ = write_own(own_index_name(), *index_after_, "index") == 0 &&
                    take_lock(own_index_name(), "index");
    const std::string there = read_regular(directory_.get(), "index", kMostCompared).value_or("");
    if (!index_locked_ || there != index_before_) {
      if (!index_locked_) (void)::unlinkat(directory_.get(), own_index_name().c_str(), 0);
      drop_checkout_locks();
      leave_checkout(why);
      return;
    }
  }
  // Whoever checks out another branch moves HEAD, which is locked only if it is to move.
  if (now.head != head_before_ && now.head != head_after_) {
    drop_checkout_locks();
    leave_checkout(why);
  }
}

// One line, in a log that is there: git makes them for what it moves itself.
void StageGit::log(const Step& step, const std::string& name) const {
  const Fd place = find_place_of(directory_.get(), "logs/" + name);
  if (!place.valid()) return;
  const Fd file(::openat(place.get(), std::string(basename(name)).c_str(),
                         O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  const auto seen = file.valid() ? inspect_fd(file.get()) : std::nullopt;
  if (!seen || seen->kind != FileKind::Regular) return;
  std::string before = step.name == "HEAD" ? commit_before_ : step.move.before;
  std::string after = step.name == "HEAD" ? commit_after_ : step.move.after;
  if (before.empty()) before = zeros_like(after);
  if (after.empty()) after = zeros_like(before);
  (void)write_whole(file.get(), before + " " + after + " Cordon <cordon@localhost> " +
                                    std::to_string(::time(nullptr)) + " +0000\tcordon: run " +
                                    manifest_.run_id + "\n");
}

void StageGit::commit(Durable& durable) {
  for (Step& step : steps_) {
    if (!step.locked) continue;
    step.moved = move_lock(own_name(step), step.name, step.move.after.empty());
    if (!step.moved) {
      drop_lock(own_name(step), step.name);
      step.why = "git: it cannot be written";
      continue;
    }
    const Fd place = find_place_of(directory_.get(), step.name);
    if (place.valid()) durable.directory(place.get());
    log(step, step.name);
    if (host_.head == "ref: " + step.name) log(step, "HEAD");
  }
  if (index_locked_) {
    index_stayed_ = !move_lock(own_index_name(), "index", false);
    if (index_stayed_) drop_lock(own_index_name(), "index");
    durable.directory(directory_.get());
  }
}

void StageGit::write_merge_refs(Durable& durable) {
  const std::string own = manifest_.pending + "-ref";
  for (Step& step : steps_) {
    if (step.merge_ref.empty() || step.moved) continue;
    const std::string value = step.name == "HEAD" ? commit_after_ : step.move.after;
    (void)::unlinkat(directory_.get(), own.c_str(), 0);
    const Fd place = open_place_of(directory_.get(), step.merge_ref);
    const std::string name(basename(step.merge_ref));
    if (place.valid() && write_own(own, value + "\n", "HEAD") == 0 &&
        ::renameat(directory_.get(), own.c_str(), place.get(), name.c_str()) == 0) {
      durable.directory(place.get());
      continue;
    }
    (void)::unlinkat(directory_.get(), own.c_str(), 0);
    step.why = "git: " + quote(step.merge_ref) + " cannot be written";
    step.line.clear();
  }
  // What the locks were made of.
  for (const Step& step : steps_) (void)::unlinkat(directory_.get(), own_name(step).c_str(), 0);
  (void)::unlinkat(directory_.get(), own_index_name().c_str(), 0);
}

void StageGit::finish(Batch files) {
  if (!open(Way::Forward)) return;
  bool any_moved = false;
  std::vector<Step> under_way;
  for (const std::size_t index : records_) {
    const ChangeRecord& record = manifest_.records[index];
    const auto move = git_move_of(record);
    if (!move || record.replaced != kRefMoved) continue;
    const bool back = record.state == Change::State::Applied;
    Step step;
    step.record = index;
    step.name = record.path.substr(path_.size() + 1);
    step.move = back ? GitMove{move->after, move->before} : *move;
    const bool has_own = lstat_at(directory_.get(), own_name(step)).has_value();
    step.moved = now_value(step, host_) == step.move.after;
    any_moved = any_moved || (step.moved && has_own);
    under_way.push_back(std::move(step));
  }
  // Branches before HEAD: it never leads to what is not there.
  std::ranges::stable_partition(under_way, [](const Step& step) { return step.name != "HEAD"; });
  const bool forward = any_moved || files == Batch::Whole;
  for (Step& step : under_way) {
    if (!step.moved && forward) {
      step.moved = move_lock(own_name(step), step.name, step.move.after.empty());
    }
    drop_lock(own_name(step), step.name);
  }
  if (forward) (void)move_lock(own_index_name(), "index", false);
  drop_lock(own_index_name(), "index");
  (void)::unlinkat(directory_.get(), (manifest_.pending + "-ref").c_str(), 0);
  const Fd packs = open_beneath(directory_.get(), "objects/pack", O_RDONLY | O_DIRECTORY);
  for (const char* what : {"-pack", "-idx"}) {
    if (packs.valid()) (void)::unlinkat(packs.get(), (manifest_.pending + what).c_str(), 0);
  }
  for (const Step& step : under_way) {
    ChangeRecord& record = manifest_.records[step.record];
    const bool back = record.state == Change::State::Applied;
    if (back ? step.moved : !step.moved) {
      record.state = Change::State::Held;
      record.put.clear();
      record.replaced.clear();
    } else {
      record.state = Change::State::Applied;
      record.put = record.base;
    }
  }
}

}  // namespace cordon
