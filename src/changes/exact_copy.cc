#include "changes/exact_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/fd.h"
#include "host/directory_names.h"
#include "host/look.h"
#include "host/tree_copy.h"

namespace cordon {
namespace {

constexpr int kDeepestCopy = 64;

int copy(int from, const std::string& name, int into, const std::string& as, int depth,
         const std::optional<Owner>& owner);

int copy_file(int from, const std::string& name, int into, const std::string& as, unsigned mode) {
  const Fd source(::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!source.valid()) return errno;
  const Fd target(
      ::openat(into, as.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!target.valid()) return errno;
  if (const int error = copy_bytes(source.get(), target.get()); error != 0) return error;
  if (::fchmod(target.get(), mode & 0777U) != 0 || ::fsync(target.get()) != 0) return errno;
  return 0;
}

int copy_directory(int from, const std::string& name, int into, const std::string& as,
                   unsigned mode, int depth, const std::optional<Owner>& owner) {
  if (depth >= kDeepestCopy) return ELOOP;
  const Fd source(::openat(from, name.c_str(), kOpenDirectory));
  if (!source.valid() || ::mkdirat(into, as.c_str(), 0700) != 0) return errno;
  const Fd target(::openat(into, as.c_str(), kOpenDirectory));
  if (!target.valid()) return errno;
  DirectoryNames names;
  if (!names.read(source.get())) return EIO;
  for (const DirectoryEntry& entry : names.entries()) {
    const std::string child(entry.name);
    if (const int error = copy(source.get(), child, target.get(), child, depth + 1, owner);
        error != 0) {
      return error;
    }
  }
  return ::fchmod(target.get(), mode & 0777U) == 0 ? 0 : errno;
}

int copy(int from, const std::string& name, int into, const std::string& as, int depth,
         const std::optional<Owner>& owner) {
  const auto seen = look(from, name);
  if (!seen) return ENOENT;
  int error = ENOTSUP;
  if (seen->symlink) {
    const auto target = read_link(from, name);
    if (!target) return errno;
    error = ::symlinkat(target->c_str(), into, as.c_str()) == 0 ? 0 : errno;
  } else if (seen->kind == FileKind::Regular) {
    error = copy_file(from, name, into, as, seen->mode);
  } else if (seen->kind == FileKind::Directory) {
    error = copy_directory(from, name, into, as, seen->mode, depth, owner);
  }
  if (error == 0 && owner && ::geteuid() == 0 &&
      ::fchownat(into, as.c_str(), owner->uid, owner->gid, AT_SYMLINK_NOFOLLOW) != 0) {
    error = errno;
  }
  return error;
}

}  // namespace

int exact_copy(int from, const std::string& name, int into, const std::string& as,
               const std::optional<Owner>& owner) {
  if (look(into, as)) return EEXIST;
  const int error = copy(from, name, into, as, 0, owner);
  if (error != 0) (void)remove_tree(into, as);
  return error;
}

}  // namespace cordon
