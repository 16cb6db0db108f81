#include "run/state_upkeep.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "changes/disk_use.h"
#include "changes/manifest.h"
#include "changes/run_lock.h"
#include "changes/stage.h"
#include "host/inspect.h"
#include "host/tree_copy.h"
#include "host/walk.h"
#include "policy/cure.h"
#include "run/recovery.h"

namespace cordon {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::int64_t kDayNs = 86'400 * kSecondNs;
constexpr std::int64_t kOftenNs = 3'600 * kSecondNs;  // a look costs a walk over all that is kept
constexpr const char* kLooked = "upkeep";  // when it was looked last, and by which bounds
constexpr const char* kUsed = ".used";     // behind the name of a home: when it was, last
constexpr std::string_view kRemoved = "removed: ";
constexpr std::string_view kGoing = ".gone";  // behind the name of what is being removed

// What all ceilings together keep, and which of them says so.
struct Bounds {
  std::optional<std::uint64_t> days;
  std::optional<std::uint64_t> bytes;
  std::string days_by;
  std::string bytes_by;
};

Bounds bounds_of(std::span<const Ceiling> ceilings) {
  Bounds bounds;
  for (const Ceiling& ceiling : ceilings) {
    const KeepBounds& keep = ceiling.keep;
    if (keep.days && (!bounds.days || *keep.days > *bounds.days)) {
      bounds.days = keep.days;
      bounds.days_by = title_of(ceiling);
    }
    if (keep.bytes && (!bounds.bytes || *keep.bytes < *bounds.bytes)) {
      bounds.bytes = keep.bytes;
      bounds.bytes_by = title_of(ceiling);
    }
  }
  return bounds;
}

std::int64_t upkeep_now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time_in_ns(time);
}

enum class KeptKind { Cache, Settled, Waiting, Unchecked, Home };

struct KeptThing {
  KeptKind kind = KeptKind::Settled;
  std::string path;  // of the directory, or of the stage
  std::string run_id;
  std::string continued_in;  // the stage in which another run has its changes
  // When somebody did something with it last, and when that was noted, if it could be.
  std::int64_t used_ns = 0;
  std::optional<std::int64_t> noted_ns;
  DiskUse use;
  std::size_t changes = 0;  // that wait
};

bool waits(const ChangeRecord& record) {
  return record.state == Change::State::Held || record.state == Change::State::Conflict;
}

bool is_gone(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) != 0 && errno == ENOENT;
}

// Whose the stage of a run is by now. A record that cannot be read, for whatever reason, says
// nothing: the changes may be there still.
enum class StageIs { None, Own, Continued, Gone, Unknown, Elsewhere };

StageIs stage_of(const Manifest& manifest, const std::string& state) {
  if (manifest.mode != WriteMode::Staged) return StageIs::None;
  // Only one of ours, whatever the note says.
  if (has_dotdot(manifest.stage) || parent(manifest.stage) != stage_directories(state)) {
    return StageIs::Elsewhere;
  }
  const std::string owner = Stage::run_of(manifest.stage);
  if (owner.empty()) return is_gone(manifest.stage) ? StageIs::Gone : StageIs::Unknown;
  return owner == manifest.run_id ? StageIs::Own : StageIs::Continued;
}

std::optional<std::int64_t> noted_use(const std::string& path) {
  struct stat used {};
  if (::lstat((path + kUsed).c_str(), &used) != 0) return std::nullopt;
  return time_in_ns(used.st_mtim);
}

// Whether the name still leads to what was opened by it.
bool leads_to(const std::string& path, int directory) {
  struct stat named {};
  struct stat opened {};
  return ::lstat(path.c_str(), &named) == 0 && ::fstat(directory, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

void add_use(DiskUse& sum, const DiskUse& more) {
  sum.bytes += more.bytes;
  sum.whole = sum.whole && more.whole;
}

class Upkeep {
 public:
  Upkeep(const Bounds& bounds, std::string state) : bounds_(bounds), state_(std::move(state)) {}

  // Reads and measures everything; an error if a note cannot be understood.
  Result<void> look();
  void remove_old();
  // Makes room, as far as that takes nobody's work.
  void remove_for_size();
  [[nodiscard]] std::uint64_t bytes() const;
  // Which kinds take how much.
  [[nodiscard]] std::string sums() const;
  // The thing that takes most; null: nothing is left.
  [[nodiscard]] const KeptThing* largest() const;
  // Something that a run filled so that it cannot be counted; null: nothing.
  [[nodiscard]] const KeptThing* uncounted() const;
  [[nodiscard]] std::vector<Quarantined> told() && { return std::move(told_); }

 private:
  void add_changes(const Manifest& manifest, std::vector<std::string>& stages);
  void add_directory(KeptKind kind, const std::string& path);
  static bool remove_directory(const KeptThing& thing);
  [[nodiscard]] bool remove_stage(const KeptThing& thing) const;
  [[nodiscard]] bool remove_changes(const KeptThing& thing) const;
  [[nodiscard]] bool remove(const KeptThing& thing) const;
  void tell_removed(const KeptThing& thing, std::int64_t age);

  const Bounds& bounds_;
  std::string state_;
  std::vector<KeptThing> things_;
  DiskUse running_;  // stages that no note speaks of: runs that go on
  std::vector<Quarantined> told_;
};

std::vector<std::string> names_in(const std::string& place) {
  const Fd directory(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  DirectoryNames names;
  std::vector<std::string> found;
  if (!directory.valid() || !names.read(directory.get())) return found;
  for (const DirectoryEntry& entry : names.entries()) found.emplace_back(entry.name);
  return found;
}

void Upkeep::add_directory(KeptKind kind, const std::string& path) {
  struct stat status {};
  // What a removal that was cut off has left goes first.
  if (path.ends_with(kGoing)) {
    (void)remove_private_tree(path);
  } else if (::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    // Of an earlier release, which noted nothing. No time of the directory itself says when it was
    // used: that of what lies in it may be younger. It is counted from now on.
    if (!noted_use(path)) note_used(path);
    const std::optional<std::int64_t> noted = noted_use(path);
    KeptThing thing{.kind = kind, .path = path, .noted_ns = noted};
    thing.used_ns = noted.value_or(upkeep_now_ns());
    thing.use = disk_use(path);
    things_.push_back(std::move(thing));
  }
}

void Upkeep::add_changes(const Manifest& manifest, std::vector<std::string>& stages) {
  const std::string handoff = handoff_directory(state_);
  const StageIs stage = stage_of(manifest, state_);
  KeptThing thing;
  thing.run_id = manifest.run_id;
  thing.noted_ns = manifest_time_ns(handoff, manifest.run_id);
  thing.used_ns = thing.noted_ns.value_or(upkeep_now_ns());
  thing.use = disk_use(join(handoff, manifest.run_id));
  // One whose stage another run went on in has no changes of its own any more.
  if (stage != StageIs::Continued && stage != StageIs::Gone) {
    thing.changes = static_cast<std::size_t>(std::ranges::count_if(manifest.records, waits));
  }
  thing.kind = thing.changes == 0 ? KeptKind::Settled : KeptKind::Waiting;
  if (stage == StageIs::Continued) thing.continued_in = manifest.stage;
  if (stage == StageIs::Own || stage == StageIs::Unknown) {
    thing.path = manifest.stage;
    add_use(thing.use, disk_use(thing.path));
    stages.push_back(thing.path);
  }
  if (stage == StageIs::Elsewhere) thing.path = join(handoff, manifest.run_id + ".changes");
  if (stage == StageIs::Unknown || stage == StageIs::Elsewhere) {
    thing.kind = KeptKind::Unchecked;
    told_.push_back({thing.path,
                     "unchecked: what is noted of the stage of run " + thing.run_id +
                         " cannot be read, so that it is kept",
                     {}});
  }
  things_.push_back(std::move(thing));
}

Result<void> Upkeep::look() {
  CORDON_TRY(manifests, read_manifests(handoff_directory(state_)));
  std::vector<std::string> stages;
  for (const Manifest& manifest : manifests) add_changes(manifest, stages);
  const std::string place = stage_directories(state_);
  for (const std::string& name : names_in(place)) {
    const std::string path = join(place, name);
    if (name.ends_with(kGoing)) (void)remove_private_tree(path);
    if (std::ranges::find(stages, path) == stages.end()) add_use(running_, disk_use(path));
  }
  const std::string homes = join(state_, "homes");
  for (const std::string& name : names_in(homes)) add_directory(KeptKind::Home, join(homes, name));
  // Of root one for each owner that runs were for.
  for (const std::string& name : names_in(state_)) {
    if (name.starts_with("caches")) add_directory(KeptKind::Cache, join(state_, name));
  }
  return {};
}

bool Upkeep::remove_directory(const KeptThing& thing) {
  const std::string& path = thing.path;
  Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid() || ::flock(directory.get(), LOCK_EX | LOCK_NB) != 0) return false;
  // Made anew, or used, since it was looked at.
  if (!leads_to(path, directory.get()) || noted_use(path) != thing.noted_ns) return false;
  const std::string gone = path + std::string(kGoing);
  // Before the name is free: the note of a run that then takes it stays.
  (void)::unlink((path + kUsed).c_str());
  if (::rename(path.c_str(), gone.c_str()) != 0) return false;
  // A run that waits for the lock finds that the name leads elsewhere, and need not wait longer.
  directory.reset();
  return remove_private_tree(gone);
}

// True if nothing of the run is in a stage any more.
bool Upkeep::remove_stage(const KeptThing& thing) const {
  const bool continued = !thing.continued_in.empty();
  const std::string& path = continued ? thing.continued_in : thing.path;
  if (path.empty()) return true;
  // An error while another run is at work in it: that one may give it back as it was.
  const auto stage = Stage::open(path);
  if (!stage) return false;
  if (!*stage) return true;
  const bool own = (*stage)->record().run_id == thing.run_id;
  if (continued || !own) return continued && !own;
  return (*stage)->remove().has_value();
}

// The note goes last: what is left of a removal that was cut off is removed by the next one.
bool Upkeep::remove_changes(const KeptThing& thing) const {
  const std::string handoff = handoff_directory(state_);
  const auto lock = RunLock::take(state_, thing.run_id);
  // Somebody has taken or given back some of it since it was looked at.
  if (!lock || manifest_time_ns(handoff, thing.run_id) != thing.noted_ns) return false;
  return remove_stage(thing) && remove_private_tree(join(handoff, thing.run_id)) &&
         remove_manifest(handoff, thing.run_id);
}

bool Upkeep::remove(const KeptThing& thing) const {
  if (thing.kind == KeptKind::Unchecked) return false;
  return thing.run_id.empty() ? remove_directory(thing) : remove_changes(thing);
}

void Upkeep::tell_removed(const KeptThing& thing, std::int64_t age) {
  const std::string days = std::to_string(age) + (age == 1 ? " day" : " days");
  const std::string by = "; " + bounds_.days_by + " keeps " + std::to_string(*bounds_.days);
  if (thing.kind == KeptKind::Waiting) {
    const std::string changes =
        std::to_string(thing.changes) + (thing.changes == 1 ? " change" : " changes");
    told_.push_back({"run " + thing.run_id,
                     std::string(kRemoved) + changes + " that waited for " + days + by,
                     {}});
  }
  if (thing.kind == KeptKind::Home) {
    told_.push_back({thing.path,
                     std::string(kRemoved) + "a private home, with the logins in it, that no run " +
                         "used for " + days + by,
                     {}});
  }
}

void Upkeep::remove_old() {
  if (!bounds_.days) return;
  // In days, so that no number of them is too large.
  const std::int64_t now = upkeep_now_ns();
  std::erase_if(things_, [&](const KeptThing& thing) {
    const std::int64_t age = (now - thing.used_ns) / kDayNs;
    const std::uint64_t kept = std::max<std::uint64_t>(*bounds_.days, 1);
    if (age < 0 || static_cast<std::uint64_t>(age) < kept || !remove(thing)) return false;
    tell_removed(thing, age);
    return true;
  });
}

void Upkeep::remove_for_size() {
  if (!bounds_.bytes) return;
  std::ranges::sort(things_, [](const KeptThing& one, const KeptThing& other) {
    return std::pair(one.kind, one.used_ns) < std::pair(other.kind, other.used_ns);
  });
  std::uint64_t left = bytes();
  std::erase_if(things_, [&](const KeptThing& thing) {
    const bool may_go = thing.kind == KeptKind::Cache || thing.kind == KeptKind::Settled;
    if (left <= *bounds_.bytes || !may_go || !remove(thing)) return false;
    left -= thing.use.bytes;
    return true;
  });
}

std::uint64_t Upkeep::bytes() const {
  std::uint64_t sum = running_.bytes;
  for (const KeptThing& thing : things_) sum += thing.use.bytes;
  return sum;
}

std::string Upkeep::sums() const {
  std::uint64_t waiting = running_.bytes;
  std::uint64_t homes = 0;
  std::uint64_t rest = 0;
  for (const KeptThing& thing : things_) {
    const bool waits = thing.kind == KeptKind::Waiting || thing.kind == KeptKind::Unchecked;
    (waits ? waiting : thing.kind == KeptKind::Home ? homes : rest) += thing.use.bytes;
  }
  return "changes that wait " + format_size(waiting) + ", private homes " + format_size(homes) +
         ", what is in use " + format_size(rest);
}

const KeptThing* Upkeep::largest() const {
  const auto found =
      std::ranges::max_element(things_, {}, [](const KeptThing& thing) { return thing.use.bytes; });
  return found == things_.end() ? nullptr : &*found;
}

const KeptThing* Upkeep::uncounted() const {
  const auto found =
      std::ranges::find_if(things_, [](const KeptThing& thing) { return !thing.use.whole; });
  return found == things_.end() ? nullptr : &*found;
}

std::string cure_for_room(const KeptThing* thing) {
  if (thing != nullptr && thing->kind == KeptKind::Home) {
    return "remove this home, with the logins in it: rm -r " + quote(thing->path);
  }
  if (thing != nullptr && thing->kind == KeptKind::Waiting) {
    return "look at what takes most (cordon changes list " + thing->run_id +
           "), then cordon changes apply " + thing->run_id + " or cordon changes discard " +
           thing->run_id;
  }
  if (thing != nullptr && thing->kind == KeptKind::Unchecked) {
    return "what is noted of the stage of run " + thing->run_id +
           " cannot be read: look at what lies there, then rm -r " + quote(thing->path);
  }
  return "wait until the other runs have ended";
}

// The file of the last look, locked; nothing if another start is at it, or it cannot be made.
Fd lock_looks(const std::string& state) {
  const auto directory = open_private_directory(state);
  if (!directory) return {};
  Fd file(::openat(directory->get(), kLooked, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.valid() || ::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return {};
  return file;
}

std::string bounds_text(const Bounds& bounds) {
  const auto number = [](const std::optional<std::uint64_t>& value) {
    return value ? std::to_string(*value) : std::string("-");
  };
  return number(bounds.days) + " " + number(bounds.bytes) + "\n";
}

// Bounds that were changed count at once.
bool is_due(int file, const Bounds& bounds) {
  struct stat status {};
  const auto text = read_all(file, 64);
  if (!text || *text != bounds_text(bounds) || ::fstat(file, &status) != 0) return true;
  const std::int64_t age = upkeep_now_ns() - time_in_ns(status.st_mtim);
  return age < 0 || age >= kOftenNs;
}

void mark_looked(int file, const Bounds& bounds) {
  const std::string text = bounds_text(bounds);
  if (::ftruncate(file, 0) == 0) (void)!::pwrite(file, text.data(), text.size(), 0);
}

}  // namespace

std::vector<Quarantined> recover(std::span<const Ceiling> ceilings, const Caller& caller) {
  std::vector<Quarantined> told = recover_runs(caller);
  const Bounds bounds = bounds_of(ceilings);
  if (!bounds.days && !bounds.bytes) return told;
  const Fd looks = lock_looks(caller.state_directory);
  if (!looks.valid() || !is_due(looks.get(), bounds)) return told;
  Upkeep upkeep(bounds, caller.state_directory);
  if (auto looked = upkeep.look(); !looked) {
    told.push_back({caller.state_directory, "unchecked: " + message(looked.error()), {}});
    return told;
  }
  upkeep.remove_old();
  upkeep.remove_for_size();
  mark_looked(looks.get(), bounds);
  std::ranges::move(std::move(upkeep).told(), std::back_inserter(told));
  return told;
}

Error with_told(Error error, const std::vector<Quarantined>& told) {
  for (const Quarantined& one : told) {
    if (one.kind.starts_with(kRemoved)) error.notes.push_back(one.path + ": " + one.kind);
  }
  return error;
}

Result<void> check_room(std::span<const Ceiling> ceilings, const Caller& caller) {
  const Bounds bounds = bounds_of(ceilings);
  if (!bounds.bytes) return {};
  Upkeep upkeep(bounds, caller.state_directory);
  CORDON_CHECK(upkeep.look());
  upkeep.remove_for_size();
  if (const KeptThing* hidden = upkeep.uncounted()) {
    return fail(
        policy_error("what runs have left behind is filled so that it cannot be measured, "
                     "and " +
                         bounds.bytes_by + " bounds it",
                     cure_for_room(hidden)));
  }
  if (upkeep.bytes() <= *bounds.bytes) return {};
  return fail(policy_error("what runs have left behind takes " + format_size(upkeep.bytes()) +
                               ", and " + bounds.bytes_by + " keeps " + format_size(*bounds.bytes) +
                               " (" + upkeep.sums() + ")",
                           cure_for_room(upkeep.largest())));
}

void note_used(const std::string& path) {
  const Fd used(::open((path + kUsed).c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (used.valid()) (void)::futimens(used.get(), nullptr);
}

Result<std::optional<DirectoryInUse>> DirectoryInUse::lock(const std::string& path, Fd directory) {
  int done = -1;
  do {
    done = ::flock(directory.get(), LOCK_SH);
  } while (done != 0 && errno == EINTR);
  if (done != 0) return fail(setup_error("cannot lock " + quote(path), errno));
  if (!leads_to(path, directory.get())) return std::optional<DirectoryInUse>();
  note_used(path);
  return std::optional(DirectoryInUse(path, std::move(directory)));
}

DirectoryInUse::~DirectoryInUse() {
  if (directory_.valid()) note_used(path_);
}

}  // namespace cordon
