#include "host/put_back.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "base/path.h"
#include "base/text.h"
#include "host/git/config.h"
#include "host/inspect.h"
#include "host/private_file.h"
#include "host/snapshot.h"
#include "host/tree_copy.h"
#include "host/walk.h"

namespace cordon {
namespace {

constexpr int kEnter = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

int change_mode(int descriptor, unsigned mode) {
  // An O_PATH descriptor has no fchmod of its own before Linux 6.6.
  const std::string self = "/proc/self/fd/" + std::to_string(descriptor);
  return ::chmod(self.c_str(), mode) == 0 ? 0 : errno;
}

std::array<timespec, 2> times_of(const KeptEntry& entry) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::int64_t seconds = entry.modified_ns / kSecond;
  std::int64_t rest = entry.modified_ns % kSecond;
  if (rest < 0) {
    rest += kSecond;
    --seconds;
  }
  return {timespec{0, UTIME_OMIT}, timespec{seconds, rest}};
}

// Both from their beginning. An error counts as a difference.
bool same_bytes(int one, int other) {
  std::array<char, 32768> a;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::array<char, 32768> b;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (off_t at = 0;;) {
    const ssize_t left = ::pread(one, a.data(), a.size(), at);
    if (left < 0) return false;
    ssize_t right = 0;
    while (right < left) {
      const ssize_t got =
          ::pread(other, b.data() + right, static_cast<std::size_t>(left - right), at + right);
      if (got <= 0) return false;
      right += got;
    }
    if (left == 0) return ::pread(other, b.data(), 1, at) == 0;
    if (!std::equal(a.begin(), a.begin() + left, b.begin())) return false;
    at += left;
  }
}

Fd open_content(int contents, const KeptEntry& entry) {
  return Fd(::openat(contents, entry.payload.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
}

std::optional<std::string> text_of(int descriptor) {
  if (::lseek(descriptor, 0, SEEK_SET) != 0) return std::nullopt;
  return read_all(descriptor, kGitConfigLimit);
}

int rename_to(int directory, const std::string& from, const std::string& to, unsigned how) {
  return ::renameat2(directory, from.c_str(), directory, to.c_str(), how) == 0 ? 0 : errno;
}

}  // namespace

void PutBack::run() {
  find_ways();
  for (const KeptEntry& entry : entries_) {
    switch (entry.type) {
      case KeptEntry::Type::WayDirectory:
        way(entry);
        break;
      case KeptEntry::Type::Directory:
        directory(entry);
        break;
      case KeptEntry::Type::File:
        file(entry);
        break;
      case KeptEntry::Type::Link:
        link(entry);
        break;
      case KeptEntry::Type::Other:
        other(entry);
        break;
    }
  }
  finish_directories();
  close_again();
}

// A directory that leads to protected files and is no longer where it was may lie elsewhere under
// another name: it is the person's repository, and it comes back as a whole.
void PutBack::find_ways() {
  std::map<FileId, std::string> moved;
  for (const KeptEntry& entry : entries_) {
    if (entry.type != KeptEntry::Type::WayDirectory) continue;
    const auto seen = inspect_path(entry.path);
    if (seen && seen->id == entry.id) continue;
    // Below a way that was moved itself: it comes back with that one.
    moved.emplace(entry.id, entry.path);
  }
  if (moved.empty()) return;
  for (MovedWay& found : find_moved_ways(roots_, moved)) {
    // One above may have brought it back.
    if (const auto seen = inspect_path(found.path); seen && seen->id == found.id) continue;
    const Fd above = enter(std::string(parent(found.path)), HoldKind::Git);
    const std::string name(basename(found.path));
    const std::string between = unguessable_name();
    if (!above.valid() || between.empty()) continue;
    // Out of whatever it lies in first: that may be what stands in its place.
    if (::renameat2(found.directory.get(), found.name.c_str(), above.get(), between.c_str(),
                    RENAME_NOREPLACE) != 0)
      continue;
    if (inspect_name(above.get(), name))
      quarantine_.take_changed(above.get(), name, found.path, HoldKind::Git);
    else
      quarantine_.put_back(found.path, HoldKind::Git);
    if (rename_to(above.get(), between, name, RENAME_NOREPLACE) != 0)
      quarantine_.failed(
          setup_error("a directory that was moved cannot be put back: " + quote(found.path), errno,
                      "it is called " + quote(between) + " now"));
  }
}

// Whatever directory stands there now: everything protected in it is put back below.
void PutBack::way(const KeptEntry& entry) {
  const Fd fd = enter(entry.path, entry.kind);
  const auto seen = fd.valid() ? inspect_fd(fd.get()) : std::nullopt;
  if (!seen) return failed(entry, errno);
  known_.protected_objects.insert(seen->id);
  if (mode_left(*seen) == entry.mode || is_in_made(entry.path)) return;
  quarantine_.put_back(entry.path, entry.kind);
  // Its owner's bits stay until what is in there is done: close_again() sees to the rest.
  change_mode(fd.get(), entry.mode | 0700);
  std::erase_if(opened_, [&](const Closed& one) { return one.id == seen->id; });
  opened_.push_back({entry.path, seen->id, entry.mode});
}

// The mode in which the run left a directory, which may have been opened since.
unsigned PutBack::mode_left(const FileInfo& seen) const {
  for (const Closed& one : opened_)
    if (one.id == seen.id) return one.mode;
  return seen.mode & 07777;
}

void PutBack::directory(const KeptEntry& entry) {
  const Fd fd = enter(entry.path, entry.kind);
  const auto seen = fd.valid() ? inspect_fd(fd.get()) : std::nullopt;
  if (!seen) return failed(entry, errno);
  known_.protected_objects.insert(seen->id);
  if (mode_left(*seen) != entry.mode && !is_in_made(entry.path))
    quarantine_.put_back(entry.path, entry.kind);
  take_strangers(entry, fd.get());
}

// Nothing is added to a protected directory by a run.
void PutBack::take_strangers(const KeptEntry& directory, int fd) {
  const Fd list(::openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!list.valid()) return failed(directory, errno);
  const auto first = std::ranges::lower_bound(entries_, directory.path, {}, &KeptEntry::path);
  std::set<std::string, std::less<>> kept;
  for (auto one = first; one != entries_.end() && one->path.starts_with(directory.path); ++one)
    if (parent(one->path) == directory.path) kept.insert(std::string(basename(one->path)));
  DirectoryNames names;
  if (!names.read(list.get())) return failed(directory, EIO);
  for (const DirectoryEntry& name : names.entries())
    if (!kept.contains(name.name))
      quarantine_.take(fd, std::string(name.name), join(directory.path, name.name), directory.kind);
}

Fd PutBack::open_file(int above, const std::string& name, const FileInfo& seen) const {
  constexpr int kRead = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Fd fd(::openat(above, name.c_str(), kRead));
  if (fd.valid() || errno != EACCES || seen.owner != ::geteuid()) return fd;
  const Fd object(::openat(above, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  const auto found = object.valid() ? inspect_fd(object.get()) : std::nullopt;
  if (!found || found->id != seen.id || found->kind != FileKind::Regular) return fd;
  if (change_mode(object.get(), 0600) != 0) return fd;
  return Fd(::openat(above, name.c_str(), kRead));
}

bool PutBack::settled(const KeptEntry& entry, int above, const std::string& name,
                      const FileInfo& seen) {
  if (seen.kind != FileKind::Regular) return false;
  const Fd now = open_file(above, name, seen);
  const Fd content = open_content(contents_, entry);
  const auto found = now.valid() ? inspect_fd(now.get()) : std::nullopt;
  if (!found || !content.valid() || found->kind != FileKind::Regular) return false;
  // A new name of it elsewhere would share every later change.
  if (found->links > entry.links) return false;
  if (!same_bytes(content.get(), now.get())) {
    if (entry.form != KeptPath::Form::GitConfig) return false;
    const auto before = text_of(content.get());
    const auto after = text_of(now.get());
    if (!before || !after || which_stays(entry.form, *before, *after) == Stays::Original)
      return false;
    if (!quarantine_.keep_original(content.get(), entry.path, entry.kind)) return false;
    if (::fchmod(now.get(), entry.mode) != 0) return false;
    known_.protected_objects.insert(found->id);
    return true;
  }
  if (found->owner != entry.owner) return false;
  if ((seen.mode & 07777) != entry.mode) {
    if (::fchmod(now.get(), entry.mode) != 0) return false;
    quarantine_.put_back(entry.path, entry.kind);
  }
  const auto times = times_of(entry);
  (void)::futimens(now.get(), times.data());
  known_.protected_objects.insert(found->id);
  return true;
}

int PutBack::write_content(const KeptEntry& entry, int above, const std::string& name) const {
  const Fd content = open_content(contents_, entry);
  if (!content.valid()) return errno;
  const Fd fd(
      ::openat(above, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return errno;
  if (const int error = copy_bytes(content.get(), fd.get()); error != 0) return error;
  // Root gives it back to its owner; root of a namespace may not know that one, and others cannot.
  // Whoever owns it then, it runs as nobody else.
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return errno;
  const bool same = status.st_uid == entry.owner && status.st_gid == entry.group;
  const bool owned = same || ::fchown(fd.get(), entry.owner, entry.group) == 0;
  if (::fchmod(fd.get(), owned ? entry.mode : entry.mode & 0777) != 0) return errno;
  const auto times = times_of(entry);
  (void)::futimens(fd.get(), times.data());
  return 0;
}

void PutBack::file(const KeptEntry& entry) {
  const Fd above = enter(std::string(parent(entry.path)), entry.kind);
  if (!above.valid()) return failed(entry, errno);
  const std::string name(basename(entry.path));
  const auto seen = inspect_name(above.get(), name);
  if (seen && settled(entry, above.get(), name, *seen)) return;
  replace(entry, above.get(), name, seen.has_value());
}

void PutBack::link(const KeptEntry& entry) {
  const Fd above = enter(std::string(parent(entry.path)), entry.kind);
  if (!above.valid()) return failed(entry, errno);
  const std::string name(basename(entry.path));
  const auto seen = inspect_name(above.get(), name);
  if (seen && seen->symlink && read_link(above.get(), name) == entry.payload) {
    known_.protected_objects.insert(seen->id);
    return;
  }
  replace(entry, above.get(), name, seen.has_value());
}

// A FIFO or a socket in a protected directory cannot be made anew for whoever used it.
void PutBack::other(const KeptEntry& entry) {
  const auto seen = inspect_path(entry.path);
  if (!seen) return;
  if (seen->id == entry.id && seen->kind == FileKind::Other && !seen->symlink) {
    known_.protected_objects.insert(seen->id);
    return;
  }
  const Fd above = enter(std::string(parent(entry.path)), entry.kind);
  if (!above.valid()) return failed(entry, errno);
  quarantine_.take(above.get(), std::string(basename(entry.path)), entry.path, entry.kind);
}

void PutBack::replace(const KeptEntry& entry, int above, const std::string& name, bool is_there) {
  const std::string between = unguessable_name();
  int error = between.empty() ? EIO : 0;
  if (error == 0 && entry.type == KeptEntry::Type::Link)
    error = ::symlinkat(entry.payload.c_str(), above, between.c_str()) == 0 ? 0 : errno;
  else if (error == 0)
    error = write_content(entry, above, between);
  if (error != 0) {
    if (!between.empty()) ::unlinkat(above, between.c_str(), 0);
    // What the run left does not stay, even where the original cannot come back yet.
    if (is_there) quarantine_.take(above, name, entry.path, entry.kind);
    return failed(entry, error);
  }
  const auto mine = inspect_name(above, between);
  bool taken = false;
  if (is_there) {
    error = rename_to(above, between, name, RENAME_EXCHANGE);
    if (error == 0) {
      taken = true;
      quarantine_.take_changed(above, between, entry.path, entry.kind);
    } else {
      // A file system that cannot exchange, or it has gone meanwhile.
      if (inspect_name(above, name)) {
        taken = true;
        quarantine_.take_changed(above, name, entry.path, entry.kind);
      }
      error = rename_to(above, between, name, RENAME_NOREPLACE);
    }
  } else {
    error = rename_to(above, between, name, RENAME_NOREPLACE);
  }
  if (error != 0) {
    ::unlinkat(above, between.c_str(), 0);
    return failed(entry, error);
  }
  if (!taken && !is_in_made(entry.path)) quarantine_.put_back(entry.path, entry.kind);
  if (mine) known_.protected_objects.insert(mine->id);
}

Fd PutBack::enter(const std::string& path, HoldKind kind) {
  Fd fd = open_canonical(path, O_PATH | O_DIRECTORY);
  const auto within = [&](const std::string& root) { return contains(root, path); };
  const auto root = std::ranges::find_if(roots_, within);
  if (root == roots_.end()) return Fd();
  if (!fd.valid()) {
    fd = open_canonical(*root, O_PATH | O_DIRECTORY);
    std::string at = *root;
    for (const std::string_view part : components(std::string_view(path).substr(root->size()))) {
      if (!fd.valid()) return fd;
      open_to_owner(fd.get(), at);
      at = join(at, part);
      fd = enter_child(fd.get(), at, kind);
    }
  }
  if (fd.valid()) open_to_owner(fd.get(), path);
  return fd;
}

Fd PutBack::enter_child(int above, const std::string& path, HoldKind kind) {
  const std::string name(basename(path));
  Fd fd(::openat(above, name.c_str(), kEnter));
  if (fd.valid()) return fd;
  const bool replaced = errno == ENOTDIR || errno == ELOOP;
  if (replaced) quarantine_.take_changed(above, name, path, kind);
  const auto known = std::ranges::lower_bound(entries_, path, {}, &KeptEntry::path);
  const bool found = known != entries_.end() && known->path == path;
  if (::mkdirat(above, name.c_str(), found ? known->mode | 0700 : 0755) != 0 && errno != EEXIST)
    return Fd();
  if (!replaced && !is_in_made(path)) quarantine_.put_back(path, kind);
  made_.insert(path);
  fd = Fd(::openat(above, name.c_str(), kEnter));
  struct stat status {};
  const bool foreign = fd.valid() && found && ::geteuid() == 0 && ::fstat(fd.get(), &status) == 0 &&
                       status.st_uid != known->owner;
  // As with files: root of a namespace may not know the owner.
  if (foreign &&
      ::fchownat(above, name.c_str(), known->owner, known->group, AT_SYMLINK_NOFOLLOW) != 0)
    errno = 0;
  return fd;
}

// Closed by the command, or by the person before it.
void PutBack::open_to_owner(int directory, const std::string& path) {
  const auto seen = inspect_fd(directory);
  if (!seen || seen->owner != ::geteuid() || (seen->mode & 0700) == 0700) return;
  if (change_mode(directory, (seen->mode & 07777) | 0700) != 0) return;
  opened_.push_back({path, seen->id, seen->mode & 07777});
}

void PutBack::finish_directories() {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->type != KeptEntry::Type::Directory) continue;
    const Fd fd = open_canonical(entry->path, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    const auto seen = fd.valid() ? inspect_fd(fd.get()) : std::nullopt;
    if (!seen || !known_.protected_objects.contains(seen->id)) continue;
    const auto times = times_of(*entry);
    (void)::futimens(fd.get(), times.data());
    if ((seen->mode & 07777) != entry->mode) (void)::fchmod(fd.get(), entry->mode);
    std::erase_if(opened_, [&](const Closed& one) { return one.id == seen->id; });
  }
}

// Inner ones first: the way to them leads through the outer ones.
void PutBack::close_again() {
  std::ranges::sort(opened_, {}, &Closed::path);
  for (auto one = opened_.rbegin(); one != opened_.rend(); ++one) {
    const Fd fd = open_canonical(one->path, O_PATH | O_DIRECTORY);
    const auto seen = fd.valid() ? inspect_fd(fd.get()) : std::nullopt;
    if (seen && seen->id == one->id) change_mode(fd.get(), one->mode);
  }
}

void PutBack::failed(const KeptEntry& entry, int error_number) {
  std::string hint = "free what is short; the next run puts it back";
  if (entry.type == KeptEntry::Type::File) hint += ", or take it from kept/ of the state directory";
  quarantine_.failed(setup_error("a protected file cannot be put back: " + quote(entry.path),
                                 error_number, std::move(hint)));
}

bool PutBack::is_in_made(const std::string& path) const {
  return std::ranges::any_of(made_, [&](const std::string& one) { return contains(one, path); });
}

}  // namespace cordon
