#include "host/tree_copy.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "base/fd.h"
#include "host/inspect.h"
#include "host/walk.h"

namespace cordon {
namespace {

constexpr int kDeepestTree = 128;

std::vector<std::string> entry_names(int directory) {
  DirectoryNames names;
  names.read(directory);
  std::vector<std::string> result;
  for (const DirectoryEntry& entry : names.entries()) result.emplace_back(entry.name);
  return result;
}

// `length` bytes from where both stand, or fewer if the file ends there.
int copy_range(int from, int to, std::uint64_t length, CopyBudget& budget) {
  std::array<char, 65536> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (length > 0) {
    const ssize_t got = ::read(from, buffer.data(), std::min<std::uint64_t>(buffer.size(), length));
    if (got == 0) return 0;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    const auto count = static_cast<std::uint64_t>(got);
    if (count > budget.bytes) return EFBIG;
    budget.bytes -= count;
    length -= count;
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = ::write(to, buffer.data() + done, static_cast<std::size_t>(got - done));
      if (put < 0 && errno != EINTR) return errno;
      if (put > 0) done += put;
    }
  }
  return 0;
}

// A file system that knows no holes names the whole file as data.
int copy_content(int from, int to, CopyBudget& budget) {
  const off_t end = ::lseek(from, 0, SEEK_END);
  if (end < 0) return errno;
  for (off_t at = 0; at < end;) {
    const off_t data = ::lseek(from, at, SEEK_DATA);
    if (data < 0 && errno == ENXIO) break;  // the rest is a hole
    if (data < 0) return errno;
    const off_t hole = ::lseek(from, data, SEEK_HOLE);
    if (hole < 0 || ::lseek(from, data, SEEK_SET) < 0 || ::lseek(to, data, SEEK_SET) < 0)
      return errno;
    const auto length = static_cast<std::uint64_t>(hole - data);
    if (const int error = copy_range(from, to, length, budget); error != 0) return error;
    at = hole;
  }
  return ::ftruncate(to, end) == 0 ? 0 : errno;
}

int copy_file(int from, const std::string& name, int into, const std::string& as, unsigned mode,
              CopyBudget& budget) {
  const Fd source(::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!source.valid()) return errno;
  const Fd target(::openat(into, as.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           mode & 0700));
  if (!target.valid()) return errno;
  return copy_content(source.get(), target.get(), budget);
}

int copy_link(int from, const std::string& name, int into, const std::string& as) {
  const auto target = read_link(from, name);
  if (!target) return errno;
  return ::symlinkat(target->c_str(), into, as.c_str()) == 0 ? 0 : errno;
}

int copy(int from, const std::string& name, int into, const std::string& as, int depth,
         CopyBudget& budget);

int copy_directory(int from, const std::string& name, int into, const std::string& as, int depth,
                   CopyBudget& budget) {
  if (depth >= kDeepestTree) return ELOOP;
  const Fd source(::openat(from, name.c_str(), kOpenDirectory));
  if (!source.valid()) return errno;
  if (::mkdirat(into, as.c_str(), 0700) != 0) return errno;
  const Fd target(::openat(into, as.c_str(), kOpenDirectory));
  if (!target.valid()) return errno;
  for (const std::string& child : entry_names(source.get()))
    if (const int error = copy(source.get(), child, target.get(), child, depth + 1, budget);
        error != 0)
      return error;
  return 0;
}

int copy(int from, const std::string& name, int into, const std::string& as, int depth,
         CopyBudget& budget) {
  if (budget.objects == 0) return EFBIG;
  --budget.objects;
  const auto seen = inspect_name(from, name);
  if (!seen) return ENOENT;
  if (seen->symlink) return copy_link(from, name, into, as);
  if (seen->kind == FileKind::Regular) return copy_file(from, name, into, as, seen->mode, budget);
  if (seen->kind == FileKind::Directory) return copy_directory(from, name, into, as, depth, budget);
  return 0;
}

int remove_at_depth(int directory, const std::string& name, int depth) {
  if (::unlinkat(directory, name.c_str(), 0) == 0) return 0;
  if (errno != EISDIR && errno != EPERM) return errno;
  if (depth >= kDeepestTree) return ELOOP;
  const Fd fd(::openat(directory, name.c_str(), kOpenDirectory));
  if (!fd.valid()) return errno;
  for (const std::string& child : entry_names(fd.get()))
    if (const int error = remove_at_depth(fd.get(), child, depth + 1); error != 0) return error;
  return ::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0 ? 0 : errno;
}

}  // namespace

int copy_bytes(int from, int to) {
  std::array<char, 65536> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (true) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got == 0) return 0;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    for (ssize_t done = 0; done < got;) {
      const ssize_t put = ::write(to, buffer.data() + done, static_cast<std::size_t>(got - done));
      if (put < 0 && errno != EINTR) return errno;
      if (put > 0) done += put;
    }
  }
}

int remove_tree(int directory, const std::string& name) {
  return remove_at_depth(directory, name, 0);
}

int move_by_copy(int from, const std::string& name, int into, const std::string& as,
                 CopyBudget& budget) {
  if (inspect_name(into, as)) return EEXIST;
  const CopyBudget before = budget;
  if (const int error = copy(from, name, into, as, 0, budget); error != 0) {
    remove_tree(into, as);
    budget = before;
    return error;
  }
  return remove_tree(from, name);
}

namespace {

// Directories are moved up to the top before they are emptied, so that no depth needs more than two
// descriptors or a longer path.
class Removal {
 public:
  explicit Removal(int top) : top_(top) {}

  bool empty_top() {
    for (;;) {
      if (::lseek(top_, 0, SEEK_SET) < 0 || !names_.read(top_)) return false;
      if (names_.entries().empty()) return true;
      std::vector<std::string> entries;
      for (const DirectoryEntry& entry : names_.entries()) entries.emplace_back(entry.name);
      for (const std::string& entry : entries) {
        if (!remove(entry)) return false;
      }
    }
  }

 private:
  bool remove(const std::string& name) {
    if (::unlinkat(top_, name.c_str(), 0) == 0) return true;
    if (errno != EISDIR && errno != EPERM) return errno == ENOENT;
    const Fd directory = open_at(top_, name);
    if (!directory.valid()) return false;
    if (!raise_directories(directory.get())) return false;
    return ::unlinkat(top_, name.c_str(), AT_REMOVEDIR) == 0;
  }

  static Fd open_at(int above, const std::string& name) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    // Its owner may have taken every right away, and moving it needs the right to write it.
    const Fd found(::openat(above, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const std::string link = "/proc/self/fd/" + std::to_string(found.get());
    if (found.valid()) (void)::chmod(link.c_str(), 0700);
    return Fd(::openat(above, name.c_str(), kFlags));
  }

  bool raise_directories(int directory) {
    if (!names_.read(directory)) return false;
    std::vector<std::string> entries;
    for (const DirectoryEntry& entry : names_.entries()) entries.emplace_back(entry.name);
    for (const std::string& entry : entries) {
      if (::unlinkat(directory, entry.c_str(), 0) == 0) continue;
      if (errno != EISDIR && errno != EPERM) return false;
      (void)open_at(directory, entry);
      if (!raise(directory, entry)) return false;
    }
    return true;
  }

  // Under a name that is free: an earlier removal may have been interrupted.
  bool raise(int directory, const std::string& entry) {
    for (;;) {
      const std::string name = "raised-" + std::to_string(next_++);
      if (::renameat(directory, entry.c_str(), top_, name.c_str()) == 0) return true;
      if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) return false;
    }
  }

  int top_;
  std::uint64_t next_ = 0;
  DirectoryNames names_;
};

}  // namespace

bool remove_private_tree(const std::string& path) {
  const Fd top(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!top.valid()) return errno == ENOENT;
  return Removal(top.get()).empty_top() && ::rmdir(path.c_str()) == 0;
}

}  // namespace cordon
