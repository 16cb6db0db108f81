#include "changes/held_back.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <map>
#include <vector>

#include "base/fd.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "base/sha256.h"
#include "base/text.h"
#include "changes/take.h"
#include "host/inspect.h"
#include "host/private_file.h"
#include "host/quarantine.h"
#include "host/tree_copy.h"
#include "host/walk.h"

namespace cordon {
namespace {

constexpr int kDeepestFingerprint = 64;
constexpr std::size_t kMostFingerprintNames = 20000;
constexpr std::size_t kMostFingerprintBytes = std::size_t{256} * 1024 * 1024;

std::string octal(unsigned mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", mode & 07777U);
  return text;
}

class Fingerprint {
 public:
  explicit Fingerprint(CopyFrom side) : side_(side) {}

  std::string of(int directory, const std::string& name, int depth = 0) {
    struct stat status {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno == ENOENT || errno == ENOTDIR ? kAbsent : kUnknown;
    }
    if (S_ISLNK(status.st_mode)) {
      const auto target = read_link(directory, name);
      return target ? "link:" + *target : kUnknown;
    }
    if (S_ISREG(status.st_mode)) return file(directory, name, status);
    if (S_ISDIR(status.st_mode)) return tree(directory, name, status, depth);
    return kUnknown;
  }

 private:
  std::string file(int directory, const std::string& name, const struct stat& status) {
    const Fd fd = open_source_file(side_, directory, name);
    const auto seen = fd.valid() ? inspect_fd(fd.get()) : std::nullopt;
    if (!seen || seen->kind != FileKind::Regular) return kUnknown;
    const auto content = read_all(fd.get(), kMostFingerprintBytes - bytes_);
    if (!content) return kUnknown;
    bytes_ += content->size();
    return "file:" + octal(status.st_mode) + ":" + sha256_hex(*content);
  }

  std::string tree(int directory, const std::string& name, const struct stat& status, int depth) {
    const SourceDirectory source(side_, directory, name);
    if (!source.valid() || depth >= kDeepestFingerprint) return kUnknown;
    DirectoryNames names;
    if (!names.read(source.get())) return kUnknown;
    std::vector<std::string> sorted;
    for (const DirectoryEntry& entry : names.entries()) sorted.emplace_back(entry.name);
    names_ += sorted.size();
    if (names_ > kMostFingerprintNames) return kUnknown;
    std::ranges::sort(sorted);
    std::string all;
    for (const std::string& child : sorted) {
      const std::string one = of(source.get(), child, depth + 1);
      if (one == kUnknown) return kUnknown;
      all.append(child).push_back('\0');
      all.append(one).push_back('\0');
    }
    return "directory:" + octal(status.st_mode) + ":" + sha256_hex(all);
  }

  CopyFrom side_;
  std::size_t names_ = 0;
  std::size_t bytes_ = 0;
};

std::string fingerprint_at(CopyFrom side, const std::string& path) {
  const Fd above = open_canonical(std::string(parent(path)), O_PATH | O_DIRECTORY);
  if (!above.valid()) return errno == ENOENT || errno == ENOTDIR ? kAbsent : kUnknown;
  return Fingerprint(side).of(above.get(), std::string(basename(path)));
}

}  // namespace

std::string fingerprint(int directory, const std::string& name) {
  return Fingerprint(CopyFrom::Host).of(directory, name);
}

std::string fingerprint_path(const std::string& path) {
  return fingerprint_at(CopyFrom::Host, path);
}

std::string fingerprint_kept(const std::string& path) {
  return fingerprint_at(CopyFrom::Run, path);
}

namespace {

constexpr std::size_t kMostSeen = 100000;
constexpr int kDeepestHeld = 128;

struct Found {
  struct stat status {};
};

std::uint64_t changed_ns(const struct stat& status) {
  return static_cast<std::uint64_t>(status.st_ctim.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(status.st_ctim.tv_nsec);
}

// The command may have closed its own copy; it is dead, and nobody else looks there.
void open_to_owner(int directory, const std::string& name, mode_t mode, mode_t more) {
  if ((mode & more) == more) return;
  // One that stays closed is told by whoever opens it.
  if (::fchmodat(directory, name.c_str(), (mode & 0777U) | more, 0) != 0) errno = 0;
}

bool same_bytes(int one, int other) {
  std::array<char, 32768> a;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::array<char, 32768> b;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (;;) {
    const ssize_t left = ::read(one, a.data(), a.size());
    if (left < 0) return false;
    ssize_t right = 0;
    while (right < left) {
      const ssize_t got = ::read(other, b.data() + right, static_cast<std::size_t>(left - right));
      if (got <= 0) return false;
      right += got;
    }
    if (left == 0) return ::read(other, b.data(), 1) == 0;
    if (!std::equal(a.begin(), a.begin() + left, b.begin())) return false;
  }
}

// One copied object as it is now, against what it was copied from.
class Comparison {
 public:
  explicit Comparison(const CopiedObject& object) : object_(object) {}

  struct Difference {
    std::string name;  // below the object; empty: the object itself
    Change::Kind change;
    bool base_known;
  };

  std::vector<Difference> run() {
    const std::string& source = object_.what.source;
    const Fd above(::open(std::string(parent(source)).c_str(), kOpenDirectory));
    if (above.valid()) list(above.get(), std::string(basename(source)), {}, 0);
    for (const CopiedEntry& entry : object_.entries) compare(entry);
    for (const auto& [name, found] : found_) {
      if (S_ISDIR(found.status.st_mode)) continue;
      // They were left out of the copy, and `git init` makes them anew.
      if (basename(object_.what.path) == "hooks" && name.ends_with(".sample")) continue;
      if (!known_.contains(name)) differences_.push_back({name, Change::Kind::Added, true});
    }
    std::ranges::sort(differences_, {}, &Difference::name);
    return std::move(differences_);
  }
  // The run made more than is looked at: then it differs as a whole.
  [[nodiscard]] bool overflowed() const { return overflowed_; }

 private:
  void list(int directory, const std::string& name, const std::string& path, int depth) {
    Found found;
    if (::fstatat(directory, name.c_str(), &found.status, AT_SYMLINK_NOFOLLOW) != 0) return;
    found_[path] = found;
    if (found_.size() > kMostSeen || depth > kDeepestHeld) overflowed_ = true;
    if (overflowed_ || !S_ISDIR(found.status.st_mode)) return;
    open_to_owner(directory, name, found.status.st_mode, 0700);
    const Fd fd(::openat(directory, name.c_str(), kOpenDirectory));
    DirectoryNames names;
    if (!fd.valid() || !names.read(fd.get())) {
      overflowed_ = true;
      return;
    }
    for (const DirectoryEntry& entry : names.entries()) {
      const std::string one(entry.name);
      list(fd.get(), one, path.empty() ? one : path + "/" + one, depth + 1);
    }
  }

  static mode_t type_of(CopiedEntry::Type type) {
    switch (type) {
      case CopiedEntry::Type::Directory:
        return S_IFDIR;
      case CopiedEntry::Type::Link:
        return S_IFLNK;
      case CopiedEntry::Type::File:
        return S_IFREG;
    }
    return S_IFREG;
  }

  void compare(const CopiedEntry& entry) {
    known_.emplace(entry.name, true);
    const auto now = found_.find(entry.name);
    if (now == found_.end()) {
      // The files of a directory that is gone tell it; an empty one is no loss.
      if (entry.type != CopiedEntry::Type::Directory) {
        differences_.push_back({entry.name, Change::Kind::Deleted, original_stands(entry)});
      }
      return;
    }
    const struct stat& status = now->second.status;
    const bool base = original_stands(entry);
    if ((status.st_mode & S_IFMT) != type_of(entry.type)) {
      differences_.push_back({entry.name, Change::Kind::Type, base});
      return;
    }
    if (entry.type == CopiedEntry::Type::Directory) return;
    const bool touched = changed_ns(status) != entry.copied_ns;
    if (base ? !same_content(entry) : touched) {
      differences_.push_back({entry.name, Change::Kind::Modified, base});
    } else if (entry.type == CopiedEntry::Type::File && (status.st_mode & 0777) != entry.mode) {
      differences_.push_back({entry.name, Change::Kind::Mode, base});
    }
  }

  [[nodiscard]] std::string original(const CopiedEntry& entry) const {
    return entry.name.empty() ? object_.what.path : join(object_.what.path, entry.name);
  }
  [[nodiscard]] std::string copy(const CopiedEntry& entry) const {
    return entry.name.empty() ? object_.what.source : join(object_.what.source, entry.name);
  }

  // True if the host's file is the one that was copied, untouched.
  [[nodiscard]] bool original_stands(const CopiedEntry& entry) const {
    const auto seen = inspect_path(original(entry));
    return seen && seen->id == entry.id && seen->size == entry.size &&
           static_cast<std::uint64_t>(seen->changed_ns) == entry.changed_ns;
  }

  [[nodiscard]] bool same_content(const CopiedEntry& entry) const {
    const std::string theirs = original(entry);
    const std::string ours = copy(entry);
    const Fd one_above = open_canonical(std::string(parent(theirs)), O_PATH | O_DIRECTORY);
    const Fd other_above(
        ::open(std::string(parent(ours)).c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!one_above.valid() || !other_above.valid()) return false;
    const std::string one_name(basename(theirs));
    const std::string other_name(basename(ours));
    if (entry.type == CopiedEntry::Type::Link) {
      return read_link(one_above.get(), one_name) == read_link(other_above.get(), other_name);
    }
    constexpr int kRead = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    const Fd one(::openat(one_above.get(), one_name.c_str(), kRead));
    Fd other(::openat(other_above.get(), other_name.c_str(), kRead));
    if (!other.valid() && errno == EACCES) {
      struct stat status {};
      if (::fstatat(other_above.get(), other_name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) {
        open_to_owner(other_above.get(), other_name, status.st_mode, 0400);
        other = Fd(::openat(other_above.get(), other_name.c_str(), kRead));
      }
    }
    return one.valid() && other.valid() && same_bytes(one.get(), other.get());
  }

  const CopiedObject& object_;
  std::map<std::string, Found> found_;
  std::map<std::string, bool> known_;
  std::vector<Difference> differences_;
  bool overflowed_ = false;
};

}  // namespace

Result<std::string> HeldBack::place_for(const std::string& path) {
  CORDON_CHECK(open_private_directory(handoff_));
  const std::string place = join(handoff_, run_id_);
  CORDON_TRY(into, open_private_directory(place));
  const bool below = path != cwd_ && contains(cwd_, path);
  const std::string base =
      handoff_name(below ? path.substr(cwd_ == "/" ? 1 : cwd_.size() + 1) : path);
  for (unsigned attempt = 0; attempt < 1000; ++attempt) {
    const std::string as = attempt == 0 ? base : base + "~" + std::to_string(attempt);
    if (!inspect_name(into.get(), as)) return join(place, as);
  }
  return fail(setup_error("there is no name left for " + quote(path) + " in " + quote(place), 0));
}

Result<std::string> HeldBack::keep(const std::string& from, const std::string& path) {
  CORDON_TRY(place, place_for(path));
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, place.c_str(), RENAME_NOREPLACE) != 0) {
    return fail(setup_error("cannot keep what the run made of " + quote(path), errno));
  }
  return place;
}

Result<std::string> HeldBack::keep_text(std::string_view text, const std::string& path) {
  CORDON_TRY(place, place_for(path));
  const Fd above(::open(std::string(parent(place)).c_str(), kOpenDirectory));
  const int error =
      above.valid() ? put_file(above.get(), std::string(basename(place)), text, 0600) : errno;
  if (error != 0) {
    return fail(setup_error("cannot keep what the run made of " + quote(path), error));
  }
  return place;
}

Result<void> HeldBack::compare(const CopiedObject& object) {
  // The command could not remove what is mounted: an attempt before this one has moved it already.
  struct stat top {};
  if (::lstat(object.what.source.c_str(), &top) != 0 && errno == ENOENT) return {};
  Comparison comparison(object);
  const auto differences = comparison.run();
  if (differences.empty() && !comparison.overflowed()) return {};
  const std::string& path = object.what.path;
  if (comparison.overflowed() || differences.size() > kMostListed) {
    CORDON_TRY(kept, keep(object.what.source, path));
    add({Change::Kind::Modified,
         Change::State::Held,
         path,
         object.what.reason + ": too many changes to list",
         path,
         kept,
         kUnknown,
         {},
         {}});
    return {};
  }
  CORDON_TRY(kept, keep(object.what.source, path));
  for (const auto& difference : differences) {
    const std::string full = difference.name.empty() ? path : join(path, difference.name);
    ChangeRecord record;
    record.change = difference.change;
    record.path = full;
    record.reason = object.what.reason;
    record.top = path;
    if (difference.change != Change::Kind::Deleted) {
      record.kept = difference.name.empty() ? kept : join(kept, difference.name);
    }
    record.base = difference.base_known ? fingerprint_path(full) : kUnknown;
    add(std::move(record));
  }
  return {};
}

}  // namespace cordon
