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
#include "base/path.h"
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

int own_as(const struct stat& status, int into, const std::string& name) {
  if (::geteuid() != 0) return 0;
  return ::fchownat(into, name.c_str(), status.st_uid, status.st_gid, AT_SYMLINK_NOFOLLOW) == 0
             ? 0
             : errno;
}

}  // namespace

// What is copied has the owner and mode of what was opened, not of what stood under its name a
// moment before: somebody else may exchange the two.
int LayerCopy::file(int from, const std::string& name, const struct stat& status, int into,
                    bool emptied) {
  const Fd target(
      ::openat(into, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!target.valid()) return errno;
  if (emptied) return copy_status(status, target.get());
  const Fd source = open_source_file(from_, from, name);
  struct stat opened {};
  if (!source.valid() || ::fstat(source.get(), &opened) != 0) return errno;
  if (!S_ISREG(opened.st_mode)) return ESTALE;
  if (::ioctl(target.get(), kShareContent, source.get()) != 0) {
    if (const int error = copy_bytes(source.get(), target.get()); error != 0) return error;
  }
  if (const int error = copy_attributes(source.get(), target.get()); error != 0) return error;
  // Open to its owner while it is read, it was closed again meanwhile.
  if (from_ == CopyFrom::Run) opened.st_mode = status.st_mode;
  return copy_status(opened, target.get());
}

int LayerCopy::directory(int from, const std::string& name, const struct stat& status, int into,
                         const std::string& below, int depth) {
  if (::mkdirat(into, name.c_str(), 0700) != 0) return errno;
  const Fd target(::openat(into, name.c_str(), kOpenDirectory));
  if (!target.valid()) return errno;
  if (is_emptied(below)) return copy_status(status, target.get());
  const SourceDirectory source(from_, from, name);
  struct stat opened {};
  if (!source.valid() || ::fstat(source.get(), &opened) != 0) return errno;
  if (const int error = contents(source.get(), target.get(), below, depth + 1); error != 0) {
    return error;
  }
  if (const int error = copy_attributes(source.get(), target.get()); error != 0) return error;
  if (from_ == CopyFrom::Run) opened.st_mode = status.st_mode;
  return copy_status(opened, target.get());
}

int LayerCopy::any(int from, const std::string& name, const struct stat& status, int into,
                   const std::string& below, int depth) {
  switch (status.st_mode & S_IFMT) {
    case S_IFREG:
      return file(from, name, status, into, is_emptied(below));
    case S_IFDIR:
      return directory(from, name, status, into, below, depth);
    case S_IFLNK: {
      const auto target = read_link(from, name);
      if (!target || ::symlinkat(target->c_str(), into, name.c_str()) != 0) return errno;
      const std::array<timespec, 2> times{status.st_atim, status.st_mtim};
      if (::utimensat(into, name.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) != 0) return errno;
      return own_as(status, into, name);
    }
    default:
      // In a stage a whiteout, a FIFO or a socket: nobody in a sandbox can make another device.
      if (::mknodat(into, name.c_str(), status.st_mode, status.st_rdev) != 0) return errno;
      return own_as(status, into, name);
  }
}

int LayerCopy::copy_entry(int from, const std::string& name, int into, const std::string& below,
                          int depth) {
  if (is_stopped()) return EINTR;
  struct stat status {};
  if (::fstatat(from, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    // The host goes on working beside a copy of its own.
    if (errno == ENOENT && from_ == CopyFrom::Host) return 0;
    return errno;
  }
  const int error = any(from, name, status, into, below, depth);
  if (error != 0) {
    if (failed_.empty()) failed_ = below;
    return error;
  }
  struct stat made {};
  if (::fstatat(into, name.c_str(), &made, AT_SYMLINK_NOFOLLOW) != 0) return errno;
  copied(below, made);
  return 0;
}

int LayerCopy::contents(int from, int into, const std::string& below, int depth) {
  if (depth > kDeepestLayer) return ELOOP;
  DirectoryNames names;
  if (!names.read(from)) return errno;
  for (const DirectoryEntry& entry : names.entries()) {
    const std::string name(entry.name);
    const std::string path = join(below, name);
    if (is_left_out(path)) continue;
    if (const int error = copy_entry(from, name, into, path, depth); error != 0) return error;
  }
  return 0;
}

int LayerCopy::copy(const std::string& from, const std::string& into) {
  struct stat status {};
  if (::lstat(from.c_str(), &status) != 0) return errno;
  const SourceDirectory source(from_, AT_FDCWD, from);
  const Fd target(::open(into.c_str(), kOpenDirectory));
  if (!source.valid() || !target.valid()) return errno;
  // The copier may not be able to write in it by its own mode.
  if (::fchmod(target.get(), 0700) != 0) return errno;
  if (const int error = contents(source.get(), target.get(), {}, 0); error != 0) return error;
  if (const int error = copy_attributes(source.get(), target.get()); error != 0) return error;
  return copy_status(status, target.get());
}

int copy_layer(const std::string& from, const std::string& into) {
  return LayerCopy(CopyFrom::Run).copy(from, into);
}

}  // namespace cordon
