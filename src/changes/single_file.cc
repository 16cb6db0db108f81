#include "changes/single_file.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/path.h"
#include "host/inspect.h"
#include "host/tree_copy.h"
#include "sys/quota.h"

namespace cordon {

std::optional<Spot> spot_of(const std::string& path) {
  Spot spot{open_canonical(std::string(parent(path)), O_RDONLY | O_DIRECTORY),
            std::string(basename(path))};
  if (!spot.above.valid()) return std::nullopt;
  return spot;
}

std::optional<struct stat> lstat_at(int directory, const std::string& name) {
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return status;
}

int change_mode(int directory, const std::string& name, mode_t mode) {
  const Fd found(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!found.valid() || ::fstat(found.get(), &status) != 0) return errno;
  if (S_ISLNK(status.st_mode)) return 0;
  const std::string link = "/proc/self/fd/" + std::to_string(found.get());
  return ::chmod(link.c_str(), mode) == 0 ? 0 : errno;
}

int copy_one(int from, const std::string& name, int into, const std::string& as) {
  const auto status = lstat_at(from, name);
  if (!status) return errno;
  if (S_ISLNK(status->st_mode)) {
    const auto target = read_link(from, name);
    if (!target || ::symlinkat(target->c_str(), into, as.c_str()) != 0) return errno;
  } else if (S_ISDIR(status->st_mode)) {
    if (::mkdirat(into, as.c_str(), 0700) != 0) return errno;
  } else if (S_ISREG(status->st_mode)) {
    const Fd source = open_kept_file(from, name);
    if (!source.valid()) return errno;
    const Fd target(
        ::openat(into, as.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!target.valid()) return errno;
    if (const int error = copy_bytes(source.get(), target.get()); error != 0) return error;
  } else {
    return ENOTSUP;
  }
  if (::geteuid() == 0 &&
      ::fchownat(into, as.c_str(), status->st_uid, status->st_gid, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno;
  }
  const mode_t bits = S_ISDIR(status->st_mode) ? kDirectoryBits : kFileBits;
  if (const int error = change_mode(into, as, status->st_mode & bits); error != 0) return error;
  const std::array<timespec, 2> times{status->st_atim, status->st_mtim};
  return ::utimensat(into, as.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno;
}

namespace {

// What a directory hands on to what is made in it; empty if it has nothing of that name.
std::string handed_on(int directory, const char* attribute) {
  std::array<char, 4096> value{};
  const ssize_t size = ::fgetxattr(directory, attribute, value.data(), value.size());
  return size > 0 ? std::string(value.data(), static_cast<std::size_t>(size)) : std::string();
}

}  // namespace

bool makes_alike(int directory, int other) {
  struct stat a {};
  struct stat b {};
  if (::fstat(directory, &a) != 0 || ::fstat(other, &b) != 0 || a.st_dev != b.st_dev) return false;
  if ((a.st_mode & S_ISGID) != (b.st_mode & S_ISGID)) return false;
  if ((a.st_mode & S_ISGID) != 0 && a.st_gid != b.st_gid) return false;
  if (sys::quota_project(directory) != sys::quota_project(other)) return false;
  for (const char* attribute : {"system.posix_acl_default", "security.selinux"}) {
    if (handed_on(directory, attribute) != handed_on(other, attribute)) return false;
  }
  return true;
}

bool is_equal(int host, const std::string& name, int kept, const std::string& as) {
  const auto a = lstat_at(host, name);
  const auto b = lstat_at(kept, as);
  if (!a || !b || (a->st_mode & S_IFMT) != (b->st_mode & S_IFMT)) return false;
  if (S_ISLNK(a->st_mode)) return read_link(host, name) == read_link(kept, as);
  const mode_t bits = S_ISDIR(a->st_mode) ? kDirectoryBits : kFileBits;
  if ((a->st_mode & bits) != (b->st_mode & bits)) return false;
  if (S_ISDIR(a->st_mode)) return true;
  if (!S_ISREG(a->st_mode) || a->st_size != b->st_size) return false;
  const Fd first(::openat(host, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  const Fd second = open_kept_file(kept, as);
  if (!first.valid() || !second.valid()) return false;
  std::array<char, 65536> x;
  std::array<char, 65536> y;
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(first.get(), x.data(), x.size(), at);
    if (got <= 0) return got == 0;
    if (::pread(second.get(), y.data(), static_cast<std::size_t>(got), at) != got ||
        std::memcmp(x.data(), y.data(), static_cast<std::size_t>(got)) != 0) {
      return false;
    }
    at += got;
  }
}

}  // namespace cordon
