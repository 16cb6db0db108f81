#include "changes/stage.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fd.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "changes/disk_use.h"
#include "changes/manifest.h"
#include "changes/stage_copy.h"
#include "changes/stage_fork.h"
#include "changes/stage_steady.h"
#include "host/inspect.h"
#include "host/tree_copy.h"
#include "host/walk.h"

namespace cordon {
namespace {

constexpr std::string_view kFirstOfStage = "cordon-stage/3";
// Of stages that were made before there were copies.
constexpr std::string_view kOlderStage = "cordon-stage/2";
// Before repositories, and the run they went on from, were noted.
constexpr std::string_view kOldestStage = "cordon-stage/1";
constexpr const char* kRecordName = "stage";
constexpr const char* kUnfinishedRecord = "stage.new";
constexpr std::string_view kGone = ".gone";
constexpr std::string_view kUnfinishedFork = ".fork";
constexpr std::size_t kMostRecordBytes = std::size_t{16} * 1024 * 1024;
constexpr std::uint64_t kMostCounted = 1'000'000;

void add_texts(std::string& text, const std::vector<std::string>& values) {
  add_field(text, values.size());
  for (const std::string& value : values) add_field(text, value);
}

std::vector<std::string> read_texts(FieldReader& fields) {
  std::vector<std::string> values;
  for (std::uint64_t left = fields.number(); left > 0 && fields.good(); --left) {
    values.push_back(fields.text());
  }
  return values;
}

constexpr std::string_view kByCopy = "copy";
constexpr std::string_view kByOverlay = "overlay";

std::string encode_stage(const StageRecord& record) {
  std::string text;
  add_field(text, kFirstOfStage);
  add_field(text, record.run_id);
  add_field(text, record.base);
  add_field(text, name_of(record.end));
  add_field(text, static_cast<std::uint64_t>(record.began_ns));
  add_field(text, record.boot);
  add_field(text, record.roots.size());
  for (const StagedRoot& root : record.roots) {
    add_field(text, root.path);
    add_field(text, root.id.device);
    add_field(text, root.id.inode);
  }
  add_field(text, record.deny.size());
  for (const DenyGlob& deny : record.deny) {
    for (const std::string* part : {&deny.written, &deny.anchor, &deny.pattern}) {
      add_field(text, *part);
    }
  }
  add_field(text, record.holds.size());
  for (const StagedHold& hold : record.holds) {
    add_field(text, hold.path);
    add_field(text, hold.reason);
  }
  for (const auto* list :
       {&record.held.homes, &record.held.on_path, &record.held.git, &record.held.protect.add,
        &record.held.protect.release, &record.named, &record.own}) {
    add_texts(text, *list);
  }
  add_field(text, record.repositories.size());
  for (const StagedRepository& one : record.repositories) {
    add_field(text, one.path);
    add_field(text, one.id.device);
    add_field(text, one.id.inode);
    add_field(text, one.refs.told ? "told" : "untold");
    add_field(text, one.refs.head);
    add_field(text, one.refs.refs.size());
    for (const GitRef& ref : one.refs.refs) {
      add_field(text, ref.name);
      add_field(text, ref.id);
      add_field(text, ref.loose ? "loose" : "packed");
    }
  }
  add_field(text, record.copy ? kByCopy : kByOverlay);
  return text;
}

std::vector<StagedRepository> read_repositories(FieldReader& fields) {
  std::vector<StagedRepository> repositories;
  for (std::uint64_t left = fields.number(); left > 0 && fields.good(); --left) {
    StagedRepository one;
    one.path = fields.text();
    one.id.device = fields.number();
    one.id.inode = fields.number();
    one.refs.told = fields.text() == "told";
    one.refs.head = fields.text();
    for (std::uint64_t refs = fields.number(); refs > 0 && fields.good(); --refs) {
      GitRef ref;
      ref.name = fields.text();
      ref.id = fields.text();
      ref.loose = fields.text() == "loose";
      one.refs.refs.push_back(std::move(ref));
    }
    repositories.push_back(std::move(one));
  }
  return repositories;
}

std::string root_place(const std::string& directory, std::size_t number, std::string_view what) {
  return join(join(directory, std::to_string(number)), what);
}

void place_roots(StageRecord& record, const std::string& directory) {
  for (std::size_t i = 0; i < record.roots.size(); ++i) {
    StagedRoot& root = record.roots[i];
    root.upper = root_place(directory, i, "upper");
    root.work = record.copy ? std::string() : root_place(directory, i, "work");
    root.copy = record.copy ? root_place(directory, i, "copy") : std::string();
    const bool has_git = std::ranges::any_of(record.repositories, [&](const StagedRepository& one) {
      return contains(root.path, one.path);
    });
    root.steady = has_git && !record.copy ? root_place(directory, i, "steady") : std::string();
  }
}

std::optional<StageRecord> decode_stage(std::string_view text, const std::string& directory) {
  FieldReader fields(text);
  StageRecord record;
  const std::string first = fields.text();
  if (first != kFirstOfStage && first != kOlderStage && first != kOldestStage) return std::nullopt;
  record.run_id = fields.text();
  if (first != kOldestStage) record.base = fields.text();
  record.end = fields.text() == name_of(StageEnd::Auto) ? StageEnd::Auto : StageEnd::Review;
  record.began_ns = static_cast<std::int64_t>(fields.number());
  record.boot = fields.text();
  for (std::uint64_t left = fields.number(); left > 0 && fields.good(); --left) {
    StagedRoot root;
    root.path = fields.text();
    root.id.device = fields.number();
    root.id.inode = fields.number();
    if (!root.path.starts_with('/') || has_dotdot(root.path)) return std::nullopt;
    record.roots.push_back(std::move(root));
  }
  for (std::uint64_t left = fields.number(); left > 0 && fields.good(); --left) {
    DenyGlob deny;
    for (std::string* part : {&deny.written, &deny.anchor, &deny.pattern}) *part = fields.text();
    record.deny.push_back(std::move(deny));
  }
  for (std::uint64_t left = fields.number(); left > 0 && fields.good(); --left) {
    StagedHold hold;
    hold.path = fields.text();
    hold.reason = fields.text();
    record.holds.push_back(std::move(hold));
  }
  for (auto* list :
       {&record.held.homes, &record.held.on_path, &record.held.git, &record.held.protect.add,
        &record.held.protect.release, &record.named, &record.own}) {
    *list = read_texts(fields);
  }
  if (first != kOldestStage) record.repositories = read_repositories(fields);
  if (first == kFirstOfStage) record.copy = fields.text() == kByCopy;
  if (!fields.good() || !fields.at_end()) return std::nullopt;
  place_roots(record, directory);
  return record;
}

std::string boot_of_this_machine() {
  const Fd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  const auto text = file.valid() ? read_all(file.get(), 64) : std::nullopt;
  return text ? text->substr(0, text->find('\n')) : std::string();
}

// One directory of a staged root, with the mode and owner that the command is to see.
Result<void> make_layer(const std::string& path, unsigned mode, const std::optional<Owner>& owner) {
  if (::mkdir(path.c_str(), 0700) != 0) {
    return fail(setup_error("cannot make " + quote(path), errno));
  }
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid() || (owner && ::fchown(fd.get(), owner->uid, owner->gid) != 0) ||
      ::fchmod(fd.get(), mode) != 0) {
    return fail(setup_error("cannot give " + quote(path) + " its mode", errno));
  }
  return {};
}

Result<void> make_root(const StagedRoot& root, const std::optional<Owner>& owner) {
  const auto seen = inspect_path(root.path);
  if (!seen || seen->id != root.id) {
    return fail(setup_error("the writable grant " + quote(root.path) + " was replaced meanwhile",
                            ESTALE, "try again when nothing else rearranges it"));
  }
  const std::string place(parent(root.upper));
  if (::mkdir(place.c_str(), 0711) != 0) {
    return fail(setup_error("cannot make " + quote(place), errno));
  }
  return make_layer(root.upper, seen->mode & 07777U, owner);
}

// What the command works in: beside its layer a place of the kernel's own, or a copy.
Result<void> make_workplace(const StageRecord& record, const StagedRoot& root,
                            const StageFor& whom) {
  if (!root.copy.empty()) return make_stage_copy(root, whom);
  if (!root.steady.empty()) CORDON_CHECK(keep_git_steady(root, record.repositories));
  return make_layer(root.work, 0700, whom.owner);
}

void add_missing(const std::vector<std::string>& from, std::vector<std::string>& into) {
  for (const std::string& one : from)
    if (std::ranges::find(into, one) == into.end()) into.push_back(one);
}

// What an earlier run in the same layer wrote is judged by what held for it as well: a name that it
// was denied, or that a ceiling protected then, waits also after a run with another policy.
void keep_held(const StageRecord& earlier, StageRecord& record) {
  for (const DenyGlob& deny : earlier.deny)
    if (std::ranges::find(record.deny, deny) == record.deny.end()) record.deny.push_back(deny);
  for (const StagedHold& hold : earlier.holds)
    if (std::ranges::find(record.holds, hold) == record.holds.end()) record.holds.push_back(hold);
  add_missing(earlier.named, record.named);
  add_missing(earlier.own, record.own);
  add_missing(earlier.held.homes, record.held.homes);
  add_missing(earlier.held.on_path, record.held.on_path);
  add_missing(earlier.held.git, record.held.git);
  add_missing(earlier.held.protect.add, record.held.protect.add);
  std::erase_if(record.held.protect.release, [&](const std::string& name) {
    const std::vector<std::string>& released = earlier.held.protect.release;
    return std::ranges::find(released, name) == released.end();
  });
}

}  // namespace

std::string stage_directories(const std::string& state_directory) {
  return join(state_directory, "stages");
}

std::int64_t time_in_ns(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Result<Stage> Stage::make(const std::string& directory, StageRecord record, const StageFor& whom) {
  auto made = fill(directory, std::move(record), whom, nullptr);
  if (!made) (void)remove_private_tree(directory);
  return made;
}

// Under another name until it is whole: half a copy is not taken for what a run wrote.
Result<Stage> Stage::fork(const std::string& directory, StageRecord record, const StageFor& whom,
                          const Stage& base) {
  const std::string unfinished = directory + std::string(kUnfinishedFork);
  auto made = fill(unfinished, std::move(record), whom, &base);
  if (made && ::rename(unfinished.c_str(), directory.c_str()) != 0) {
    made = fail(setup_error("cannot make " + quote(directory), errno));
  }
  if (!made) {
    (void)remove_private_tree(unfinished);
    return made;
  }
  made->directory_ = directory;
  place_roots(made->record_, directory);
  return made;
}

Result<Stage> Stage::fill(const std::string& directory, StageRecord record, const StageFor& whom,
                          const Stage* base) {
  Stage stage;
  stage.directory_ = directory;
  CORDON_TRY(made, open_private_directory(directory));
  struct stat status {};
  if (::fstat(made.get(), &status) < 0) {
    return fail(setup_error("cannot look at " + quote(directory), errno));
  }
  // The directory was just made. Its change time is not before that of anything that was changed
  // earlier, and not after that of what is changed from now on: no clock says that on every kernel,
  // since from 6.13 on some change times are finer than the clock of the others.
  record.began_ns = time_in_ns(status.st_ctim);
  record.boot = boot_of_this_machine();
  place_roots(record, directory);
  for (std::size_t i = 0; i < record.roots.size(); ++i) {
    CORDON_CHECK(make_root(record.roots[i], whom.owner));
    if (base != nullptr) {
      const StagedRoot& from = base->record_.roots[i];
      if (const int error = copy_layer(from.upper, record.roots[i].upper); error != 0) {
        return fail(setup_error("cannot copy what lies in " + quote(from.upper), error));
      }
    }
    CORDON_CHECK(make_workplace(record, record.roots[i], whom));
  }
  if (base != nullptr) {
    record.began_ns = base->record_.began_ns;
    keep_held(base->record_, record);
  }
  CORDON_CHECK(stage.write_record(made.get(), std::move(record)));
  return stage;
}

// Under its name there is a whole record or none, and it is locked from its first moment on.
Result<void> Stage::write_record(int place, StageRecord record) {
  // Of a writer that was killed.
  (void)::unlinkat(place, kUnfinishedRecord, 0);
  Fd lock(
      ::openat(place, kUnfinishedRecord, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  int error = !lock.valid() || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0
                  ? errno
                  : write_whole(lock.get(), encode_stage(record));
  if (error == 0 && ::renameat(place, kUnfinishedRecord, place, kRecordName) != 0) error = errno;
  if (error != 0) return fail(setup_error("cannot write in " + quote(directory_), error));
  // The lock of the record before goes now, when nobody finds that one by its name any more.
  lock_ = std::move(lock);
  record_ = std::move(record);
  return {};
}

bool have_same_roots(const StageRecord& one, const StageRecord& other) {
  return std::ranges::equal(one.roots, other.roots, [](const StagedRoot& a, const StagedRoot& b) {
    return a.path == b.path && a.id == b.id;
  });
}

Result<void> Stage::resume(StageRecord record, const StageFor& whom) {
  CORDON_CHECK(close());
  const Fd place(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!place.valid()) return fail(setup_error("cannot open " + quote(directory_), errno));
  record.began_ns = record_.began_ns;
  record.boot = boot_of_this_machine();
  keep_held(record_, record);
  place_roots(record, directory_);
  StageRecord before = record_;
  CORDON_CHECK(write_record(place.get(), std::move(record)));
  before_ = std::move(before);
  for (const StagedRoot& root : record_.roots) CORDON_CHECK(make_workplace(record_, root, whom));
  return {};
}

Result<void> Stage::withdraw() {
  if (!before_) return remove();
  if (record_.copy) {
    for (const StagedRoot& root : record_.roots) CORDON_CHECK(drop_stage_copy(root));
  }
  CORDON_CHECK(close());
  const Fd place(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!place.valid()) return fail(setup_error("cannot open " + quote(directory_), errno));
  return write_record(place.get(), *std::exchange(before_, std::nullopt));
}

std::optional<StageRecord> Stage::peek(const std::string& directory) {
  const Fd file(::open(join(directory, kRecordName).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  const auto text = file.valid() ? read_all(file.get(), kMostRecordBytes) : std::nullopt;
  return text ? decode_stage(*text, directory) : std::nullopt;
}

std::string Stage::run_of(const std::string& directory) {
  const auto record = peek(directory);
  return record ? record->run_id : std::string();
}

Result<std::optional<Stage>> Stage::open(const std::string& directory) {
  const Fd place(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!place.valid() && errno == ENOENT) return std::optional<Stage>();
  Stage stage;
  stage.directory_ = directory;
  if (place.valid()) {
    stage.lock_ = Fd(::openat(place.get(), kRecordName, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (!stage.lock_.valid()) return fail(setup_error("cannot open " + quote(directory), errno));
  // A run that goes on in a stage puts another record in the place of this one: the lock of the old
  // one says nothing then.
  struct stat locked {};
  if (::flock(stage.lock_.get(), LOCK_EX | LOCK_NB) != 0 ||
      ::fstat(stage.lock_.get(), &locked) != 0 || locked.st_nlink == 0) {
    return fail(setup_error("somebody else is at work on the stage " + quote(directory), 0,
                            "wait until the run, or the other cordon changes, has ended"));
  }
  const auto text = read_all(stage.lock_.get(), kMostRecordBytes);
  auto record = text ? decode_stage(*text, directory) : std::nullopt;
  if (!record) {
    return fail(
        setup_error("what is noted of the stage " + quote(directory) + " cannot be understood", 0,
                    "what the run wrote lies below it"));
  }
  stage.record_ = std::move(*record);
  return std::optional<Stage>(std::move(stage));
}

namespace {

// The first process of a sandbox tries each overlay by making something through it
// (sandbox/native/build.cc). Killed at that moment, it leaves an empty directory at the top.
void drop_attempt(const std::string& upper) {
  constexpr std::string_view kPrefix = ".cordon-";
  constexpr std::size_t kLetters = 16;
  const Fd top(::open(upper.c_str(), kOpenDirectory));
  DirectoryNames names;
  if (!top.valid() || !names.read(top.get())) return;
  for (const DirectoryEntry& entry : names.entries()) {
    if (entry.name.size() != kPrefix.size() + kLetters || !entry.name.starts_with(kPrefix))
      continue;
    const std::string_view rest = entry.name.substr(kPrefix.size());
    if (rest.find_first_not_of("abcdefghijklmnop") != std::string_view::npos) continue;
    (void)::unlinkat(top.get(), std::string(entry.name).c_str(), AT_REMOVEDIR);
  }
}

}  // namespace

bool Stage::drop_unfinished(const std::string& directory) {
  struct stat status {};
  const std::string gone = directory + std::string(kGone);
  if (::lstat(gone.c_str(), &status) == 0) return remove_private_tree(gone);
  const std::string fork = directory + std::string(kUnfinishedFork);
  if (::lstat(fork.c_str(), &status) == 0) return remove_private_tree(fork);
  if (::lstat(join(directory, kRecordName).c_str(), &status) == 0 || errno != ENOENT) return false;
  // Nothing was started without a record; if something is there all the same, it is kept.
  for (std::size_t number = 0;; ++number) {
    const Fd upper(::open(root_place(directory, number, "upper").c_str(), kOpenDirectory));
    if (!upper.valid()) break;
    DirectoryNames names;
    if (!names.read(upper.get()) || !names.entries().empty()) return false;
  }
  return remove_private_tree(directory);
}

Result<bool> Stage::close() {
  const bool another_boot = record_.boot != boot_of_this_machine();
  bool cut = false;
  for (const StagedRoot& root : record_.roots) {
    struct stat status {};
    if (record_.copy) {
      CORDON_TRY(gathered, gather_stage_copy(root));
      cut = cut || gathered;
      continue;
    }
    if (!root.steady.empty() && !remove_private_tree(root.steady)) {
      return fail(setup_error("cannot remove " + quote(root.steady), EBUSY));
    }
    if (::lstat(root.work.c_str(), &status) != 0) continue;
    cut = true;
    drop_attempt(root.upper);
    // Nothing of `work` is needed any more; the overlay's own marks in it say that an upper was not
    // closed, and it is now.
    if (!remove_private_tree(root.work)) {
      return fail(setup_error("cannot remove " + quote(root.work), EBUSY));
    }
  }
  return cut && another_boot;
}

// Under another name first: cut off in the middle, it is not taken for a stage that changed.
Result<void> Stage::remove() const {
  const std::string gone = directory_ + std::string(kGone);
  if (::rename(directory_.c_str(), gone.c_str()) != 0 || !remove_private_tree(gone)) {
    return fail(setup_error("cannot remove the stage " + quote(directory_), errno));
  }
  return {};
}

std::uint64_t stage_size(const std::string& directory) {
  return disk_use(directory, kMostCounted).bytes;
}

}  // namespace cordon
