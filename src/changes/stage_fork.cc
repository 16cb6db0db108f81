#include "changes/stage_fork.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "changes/take.h"
#include "host/inspect.h"
#include "host/tree_copy.h"
#include "host/walk.h"

namespace cordon {
namespace {

constexpr int kDeepestLayer = 200;
// FICLONE of linux/fs.h: both files share their blocks until one of them is written.
constexpr unsigned long kShareContent = _IOW(0x94, 9, int);

// Attributes of users alone: those of the system are a matter of the file system. An overlay
// numbers itself by the third one.
int copy_attributes(int from, int into) {
  constexpr std::string_view kOfUsers = "user.";
  constexpr std::string_view kOfThisOverlay = "user.overlay.uuid";
  const ssize_t size = ::flistxattr(from, nullptr, 0);
  if (size <= 0) return 0;
  std::vector<char> names(static_cast<std::size_t>(size));
  const ssize_t got = ::flistxattr(from, names.data(), names.size());
  if (got < 0) return errno;
  const std::string_view all(names.data(), static_cast<std::size_t>(got));
  for (std::size_t at = 0; at < all.size();) {
    const std::string name(all.substr(at, all.find('\0', at) - at));
    at += name.size() + 1;
    if (!name.starts_with(kOfUsers) || name == kOfThisOverlay) continue;
    const ssize_t length = ::fgetxattr(from, name.c_str(), nullptr, 0);
    if (length < 0) return errno;
    std::vector<char> value(static_cast<std::size_t>(length));
    const ssize_t read = ::fgetxattr(from, name.c_str(), value.data(), value.size());
    if (read < 0) return errno;
    if (::fsetxattr(into, name.c_str(), value.data(), static_cast<std::size_t>(read), 0) != 0) {
      return errno;
    }
  }
  return 0;
}

// Owner first: a change of it takes set-id bits away.
int copy_status(const struct stat& status, int into) {
  if (::geteuid() == 0 && ::fchown(into, status.st_uid, status.st_gid) != 0) return errno;
  if (::fchmod(into, status.st_mode & 07777U) != 0) return errno;
  const std::array<timespec, 2> times{status.st_atim, status.st_mtim};
  return ::futimens(into, times.data()) == 0 ? 0 : errno;
}

int copy_layer_file(int from, const std::string& name, const struct stat& status, int into) {
  const Fd source = open_kept_file(from, name);
  if (!source.valid()) return errno;
  const Fd target(
      ::openat(into, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!target.valid()) return errno;
  if (::ioctl(target.get(), kShareContent, source.get()) != 0) {
    if (const int error = copy_bytes(source.get(), target.get()); error != 0) return error;
  }
  if (const int error = copy_attributes(source.get(), target.get()); error != 0) return error;
  return copy_status(status, target.get());
}

int own_as(const struct stat& status, int into, const std::string& name) {
  if (::geteuid() != 0) return 0;
  return ::fchownat(into, name.c_str(), status.st_uid, status.st_gid, AT_SYMLINK_NOFOLLOW) == 0
             ? 0
             : errno;
}

int copy_contents(int from, int into, int depth);

int copy_layer_directory(int from, const std::string& name, const struct stat& status, int into,
                         int depth) {
  const KeptDirectory source = KeptDirectory::open(from, name);
  if (!source.valid() || ::mkdirat(into, name.c_str(), 0700) != 0) return errno;
  const Fd target(::openat(into, name.c_str(), kOpenDirectory));
  if (!target.valid()) return errno;
  if (const int error = copy_contents(source.get(), target.get(), depth + 1); error != 0) {
    return error;
  }
  if (const int error = copy_attributes(source.get(), target.get()); error != 0) return error;
  return copy_status(status, target.get());
}

int copy_entry(int from, const std::string& name, int into, int depth) {
  struct stat status {};
  if (::fstatat(from, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  switch (status.st_mode & S_IFMT) {
    case S_IFREG:
      return copy_layer_file(from, name, status, into);
    case S_IFDIR:
      return copy_layer_directory(from, name, status, into, depth);
    case S_IFLNK: {
      const auto target = read_link(from, name);
      if (!target || ::symlinkat(target->c_str(), into, name.c_str()) != 0) return errno;
      return own_as(status, into, name);
    }
    default:
      // A whiteout, a FIFO or a socket: nobody in a sandbox can make another device.
      if (::mknodat(into, name.c_str(), status.st_mode, status.st_rdev) != 0) return errno;
      return own_as(status, into, name);
  }
}

int copy_contents(int from, int into, int depth) {
  if (depth > kDeepestLayer) return ELOOP;
  DirectoryNames names;
  if (!names.read(from)) return errno;
  for (const DirectoryEntry& entry : names.entries()) {
    if (const int error = copy_entry(from, std::string(entry.name), into, depth); error != 0) {
      return error;
    }
  }
  return 0;
}

}  // namespace

int copy_layer(const std::string& from, const std::string& into) {
  struct stat status {};
  if (::lstat(from.c_str(), &status) != 0) return errno;
  const KeptDirectory source = KeptDirectory::open(AT_FDCWD, from);
  const Fd target(::open(into.c_str(), kOpenDirectory));
  if (!source.valid() || !target.valid()) return errno;
  // The copier may not be able to write in it by its own mode.
  if (::fchmod(target.get(), 0700) != 0) return errno;
  if (const int error = copy_contents(source.get(), target.get(), 0); error != 0) return error;
  if (const int error = copy_attributes(source.get(), target.get()); error != 0) return error;
  return copy_status(status, target.get());
}

}  // namespace cordon
