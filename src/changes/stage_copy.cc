#include "changes/stage_copy.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/path.h"
#include "base/random_id.h"
#include "base/text.h"
#include "changes/layer_marks.h"
#include "changes/manifest.h"
#include "changes/stage_fork.h"
#include "changes/stage_steady.h"
#include "changes/take.h"
#include "host/inspect.h"
#include "host/tree_copy.h"
#include "host/walk.h"

namespace cordon {
namespace {

constexpr std::string_view kFirstOfNames = "cordon-names/1";
constexpr const char* kNamesFile = "names";
constexpr const char* kUnfinishedNames = "names.new";
constexpr const char* kClockFile = "clock";
constexpr std::size_t kMostNamesBytes = std::size_t{1} << 30U;
constexpr int kDeepestStageCopy = 200;
constexpr mode_t kAllBits = 07777;

struct CopiedObject {
  std::uint64_t inode = 0;  // of the copy; 0: it counts as touched
  mode_t mode = 0;
};

// By path below the root.
using CopiedNames = std::unordered_map<std::string, CopiedObject>;

// A copy takes as long as the tree is large. Whoever asks for an end by a signal that the caller
// has blocked, to answer it later, does not wait for it: 0 or that signal.
int waiting_signal() {
  sigset_t waiting;
  if (::sigpending(&waiting) != 0) return 0;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    if (::sigismember(&waiting, signal) == 1) return signal;
  }
  return 0;
}

class HostCopy final : public LayerCopy {
 public:
  HostCopy(std::string root, const StageFor& whom, CopiedNames& names)
      : LayerCopy(CopyFrom::Host), root_(std::move(root)), whom_(whom), names_(names) {}
  ~HostCopy() override {
    if (whom_.copying) whom_.copying(std::nullopt);
  }
  HostCopy(const HostCopy&) = delete;
  HostCopy& operator=(const HostCopy&) = delete;

 private:
  [[nodiscard]] bool is_emptied(const std::string& below) const override {
    return whom_.unseen.contains(join(root_, below));
  }
  // A lock of the host's git is gone in a moment, and in the copy it would stay.
  [[nodiscard]] bool is_left_out(const std::string& below) const override {
    return is_git_lock(below) && ("/" + below).find("/.git/") != std::string::npos;
  }
  void copied(const std::string& below, const struct stat& made) override {
    constexpr std::size_t kToldEvery = 256;
    names_[below] = {made.st_ino, made.st_mode};
    if (whom_.copying && names_.size() % kToldEvery == 0) whom_.copying(names_.size());
  }
  [[nodiscard]] bool is_stopped() const override { return waiting_signal() != 0; }

  std::string root_;
  const StageFor& whom_;
  CopiedNames& names_;
};

// Lays a layer on top of a copy of what lies below it.
class LayOver {
 public:
  explicit LayOver(CopiedNames& names) : names_(names) {}

  int directory(int layer, int copy, const std::string& below, int depth) {
    if (depth > kDeepestStageCopy) return ELOOP;
    DirectoryNames found;
    if (!found.read(layer)) return errno;
    for (const DirectoryEntry& one : found.entries()) {
      const std::string name(one.name);
      if (const int error = entry(layer, copy, name, join(below, name), depth); error != 0) {
        return error;
      }
    }
    return 0;
  }

 private:
  int entry(int layer, int copy, const std::string& name, const std::string& below, int depth) {
    const auto above = lstat_at(layer, name);
    if (!above) return errno;
    const auto there = lstat_at(copy, name);
    const bool both = there && S_ISDIR(there->st_mode) && S_ISDIR(above->st_mode);
    if (there && !both) {
      if (const int error = remove_tree(copy, name); error != 0) return error;
    }
    if (marks_.is_deleted(layer, name, *above)) return 0;
    // A new file may have got the number of the one that it stands for.
    if (const auto known = names_.find(below);
        known != names_.end() && (!both || known->second.mode != above->st_mode)) {
      known->second.inode = 0;
    }
    if (!S_ISDIR(above->st_mode)) {
      return LayerCopy(CopyFrom::Run).copy_entry(layer, name, copy, below, depth);
    }
    if (!both && ::mkdirat(copy, name.c_str(), 0700) != 0) return errno;
    const KeptDirectory from = KeptDirectory::open(layer, name);
    const Fd into(::openat(copy, name.c_str(), kOpenDirectory));
    if (!from.valid() || !into.valid() || ::fchmod(into.get(), 0700) != 0) return errno;
    if (const int error = directory(from.get(), into.get(), below, depth + 1); error != 0) {
      return error;
    }
    if (::geteuid() == 0 && ::fchown(into.get(), above->st_uid, above->st_gid) != 0) return errno;
    return ::fchmod(into.get(), above->st_mode & kAllBits) == 0 ? 0 : errno;
  }

  LayerMarks marks_{LayerMarks::By::Cordon};
  CopiedNames& names_;
};

struct NamesFile {
  std::string seal;
  CopiedNames names;
  std::int64_t written_ns = 0;  // its change time
};

std::string encode_names(const NamesFile& file) {
  std::string text;
  add_field(text, kFirstOfNames);
  add_field(text, file.seal);
  add_field(text, file.names.size());
  for (const auto& [path, object] : file.names) {
    add_field(text, path);
    add_field(text, object.inode);
    add_field(text, object.mode);
  }
  return text;
}

std::optional<NamesFile> read_names(int place) {
  const Fd file(::openat(place, kNamesFile, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) != 0) return std::nullopt;
  const auto text = read_all(file.get(), kMostNamesBytes);
  if (!text) return std::nullopt;
  NamesFile result;
  FieldReader fields(*text);
  if (fields.text() != kFirstOfNames) return std::nullopt;
  result.seal = fields.text();
  for (std::uint64_t left = fields.number(); left > 0 && fields.good(); --left) {
    const std::string path = fields.text();
    const std::uint64_t inode = fields.number();
    result.names[path] = {inode, static_cast<mode_t>(fields.number())};
  }
  if (!fields.good() || !fields.at_end()) return std::nullopt;
  result.written_ns = time_in_ns(status.st_ctim);
  return result;
}

// Returns when whatever is changed in this file system from now on is younger than `time`. Its
// clock may go by ticks of some milliseconds, or of a second.
int wait_until_younger(int place, std::int64_t time) {
  constexpr int kMostLooks = 4000;
  constexpr long kBetweenNanoseconds = 1'000'000;
  for (int look = 0; look < kMostLooks; ++look) {
    const Fd clock(
        ::openat(place, kClockFile, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    struct stat status {};
    if (!clock.valid() || ::fstat(clock.get(), &status) != 0) return errno;
    if (::unlinkat(place, kClockFile, 0) != 0) return errno;
    if (time_in_ns(status.st_ctim) > time) return 0;
    const timespec pause{0, kBetweenNanoseconds};
    ::nanosleep(&pause, nullptr);
  }
  return ETIME;
}

int write_names(int place, const NamesFile& file) {
  (void)::unlinkat(place, kUnfinishedNames, 0);
  (void)::unlinkat(place, kClockFile, 0);
  const Fd made(::openat(place, kUnfinishedNames,
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!made.valid()) return errno;
  if (const int error = write_whole(made.get(), encode_names(file)); error != 0) return error;
  if (::renameat(place, kUnfinishedNames, place, kNamesFile) != 0) return errno;
  struct stat status {};
  if (::fstat(made.get(), &status) != 0) return errno;
  return wait_until_younger(place, time_in_ns(status.st_ctim));
}

class Gathering {
 public:
  Gathering(int place, NamesFile file) : place_(place), file_(std::move(file)) {
    for (const auto& [path, object] : file_.names) {
      const std::size_t slash = path.rfind('/');
      const bool top = slash == std::string::npos;
      children_[top ? std::string() : path.substr(0, slash)].push_back(
          top ? path : path.substr(slash + 1));
    }
  }

  // Step 1.
  int mark(int directory, const std::string& below, int depth) {
    if (const auto children = children_.find(below); children != children_.end()) {
      for (const std::string& name : children->second) {
        if (lstat_at(directory, name)) continue;
        if (errno != ENOENT) return errno;
        if (const int error = mark_deleted(place_, directory, name, file_.seal); error != 0) {
          return error;
        }
      }
    }
    if (depth > kDeepestStageCopy) return 0;
    DirectoryNames found;
    if (!found.read(directory)) return errno;
    for (const DirectoryEntry& one : found.entries()) {
      const std::string name(one.name);
      const auto status = lstat_at(directory, name);
      // Below a directory that was not there nothing can be missing.
      if (!status || !S_ISDIR(status->st_mode) || !children_.contains(join(below, name))) continue;
      const KeptDirectory inner = KeptDirectory::open(directory, name);
      if (!inner.valid()) return errno;
      if (const int error = mark(inner.get(), join(below, name), depth + 1); error != 0) {
        return error;
      }
    }
    return 0;
  }

  // Step 3. `left` says whether something stays.
  int prune(int directory, const std::string& below, int depth, bool& left) {
    left = false;
    DirectoryNames found;
    if (!found.read(directory)) return errno;
    for (const DirectoryEntry& one : found.entries()) {
      bool stays = true;
      const std::string name(one.name);
      if (const int error = prune_entry(directory, name, join(below, name), depth, stays);
          error != 0) {
        return error;
      }
      left = left || stays;
    }
    return 0;
  }

 private:
  int prune_entry(int directory, const std::string& name, const std::string& below, int depth,
                  bool& stays) {
    const auto status = lstat_at(directory, name);
    if (!status) return errno;
    const auto known = file_.names.find(below);
    const bool same = known != file_.names.end() && known->second.inode == status->st_ino;
    if (S_ISDIR(status->st_mode)) {
      if (depth < kDeepestStageCopy) {
        const KeptDirectory inner = KeptDirectory::open(directory, name);
        if (!inner.valid()) return errno;
        if (const int error = prune(inner.get(), below, depth + 1, stays); error != 0) return error;
      }
      if (stays || !same || known->second.mode != status->st_mode) {
        stays = true;
        return 0;
      }
      return ::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 ? 0 : errno;
    }
    if (same && time_in_ns(status->st_ctim) <= file_.written_ns) {
      stays = false;
      return ::unlinkat(directory, name.c_str(), 0) == 0 ? 0 : errno;
    }
    if (!S_ISREG(status->st_mode) || is_marked_deleted(directory, name, file_.seal)) return 0;
    if (const int error = clear_marks(directory, name); error != 0) return error;
    return known != file_.names.end() ? mark_copied(directory, name) : 0;
  }

  int place_;
  NamesFile file_;
  std::unordered_map<std::string, std::vector<std::string>> children_;
};

Fd place_of(const StagedRoot& root) {
  return Fd(::open(std::string(parent(root.upper)).c_str(), kOpenDirectory));
}

bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

Error uncopied(const StagedRoot& root, const std::string& below, int error) {
  const std::string path = below.empty() ? root.path : join(root.path, below);
  if (const int signal = waiting_signal(); error == EINTR && signal != 0) {
    Error stopped = setup_error("ended while " + quote(root.path) + " was being copied", 0,
                                "nothing was started, and the copy is removed");
    stopped.exit_status = 128 + signal;
    return stopped;
  }
  std::string hint = "try again when nothing else rearranges it";
  if (error == EACCES || error == EPERM) {
    hint =
        "a copy needs to read everything that is granted: change its mode, or name it with deny "
        "below [fs], which leaves it out";
  }
  if (error == ENOSPC || error == EDQUOT) {
    hint =
        "a copy needs as much room as what is granted: free some, or set XDG_STATE_HOME to a "
        "directory on a larger disk";
  }
  if (error == ELOOP) hint = "a copy goes no deeper than 200 directories";
  return setup_error("cannot copy " + quote(path) + " into a stage", error, hint);
}

}  // namespace

Result<void> make_stage_copy(const StagedRoot& root, const StageFor& whom) {
  CORDON_CHECK(drop_stage_copy(root));
  const Fd place = place_of(root);
  if (!place.valid() || ::mkdir(root.copy.c_str(), 0700) != 0) {
    return fail(setup_error("cannot make " + quote(root.copy), errno));
  }
  // Told now, and not when the work is done and cannot be gathered.
  if (const int error = try_marks(place.get()); error != 0) {
    return fail(setup_error("a stage that is a copy needs attributes of users (user.*), which " +
                                quote(parent(root.upper)) + " cannot have",
                            error, "set XDG_STATE_HOME to a directory on a disk file system"));
  }
  NamesFile file;
  file.seal = random_id() + random_id();
  {
    HostCopy copy(root.path, whom, file.names);
    if (const int error = copy.copy(root.path, root.copy); error != 0) {
      return fail(uncopied(root, copy.failed(), error));
    }
  }
  const KeptDirectory layer = KeptDirectory::open(AT_FDCWD, root.upper);
  const Fd into(::open(root.copy.c_str(), kOpenDirectory));
  if (!layer.valid() || !into.valid()) {
    return fail(setup_error("cannot open " + quote(root.upper), errno));
  }
  struct stat status {};
  int error = ::fstat(into.get(), &status) == 0 && ::fchmod(into.get(), 0700) == 0 ? 0 : errno;
  if (error == 0) error = LayOver(file.names).directory(layer.get(), into.get(), {}, 0);
  if (error == 0 && ::fchmod(into.get(), status.st_mode & kAllBits) != 0) error = errno;
  if (error != 0) return fail(setup_error("cannot copy what lies in " + quote(root.upper), error));
  error = write_names(place.get(), file);
  if (error != 0) return fail(setup_error("cannot write in " + quote(root.copy), error));
  return {};
}

Result<bool> gather_stage_copy(const StagedRoot& root) {
  const Fd place = place_of(root);
  if (!place.valid()) return fail(setup_error("cannot open " + quote(root.upper), errno));
  struct stat status {};
  if (::fstatat(place.get(), kNamesFile, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    CORDON_CHECK(drop_stage_copy(root));
    return false;
  }
  const auto failed = [&](int error) {
    return fail(setup_error("cannot gather what changed in " + quote(root.copy), error));
  };
  auto file = read_names(place.get());
  if (!file) return failed(EINVAL);
  Gathering gathering(place.get(), std::move(*file));
  if (is_there(root.copy)) {
    const KeptDirectory copy = KeptDirectory::open(AT_FDCWD, root.copy);
    if (!copy.valid()) return failed(errno);
    if (const int error = gathering.mark(copy.get(), {}, 0); error != 0) return failed(error);
    if (is_there(root.upper) && !remove_private_tree(root.upper)) return failed(EBUSY);
    if (::rename(root.copy.c_str(), root.upper.c_str()) != 0) return failed(errno);
  }
  {
    const KeptDirectory upper = KeptDirectory::open(AT_FDCWD, root.upper);
    if (!upper.valid()) return failed(errno);
    bool left = false;
    if (const int error = gathering.prune(upper.get(), {}, 0, left); error != 0) {
      return failed(error);
    }
  }
  if (::unlinkat(place.get(), kNamesFile, 0) != 0) return failed(errno);
  return true;
}

Result<void> drop_stage_copy(const StagedRoot& root) {
  const Fd place = place_of(root);
  if (!place.valid()) return fail(setup_error("cannot open " + quote(root.upper), errno));
  // In this order: a copy without names belongs to no run.
  for (const char* name : {kNamesFile, kUnfinishedNames, kClockFile}) {
    (void)::unlinkat(place.get(), name, 0);
  }
  if (is_there(root.copy) && !remove_private_tree(root.copy)) {
    return fail(setup_error("cannot remove " + quote(root.copy), EBUSY));
  }
  return {};
}

}  // namespace cordon
