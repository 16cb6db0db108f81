#include "host/tree_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.h"
#include "host/directory_names.h"
#include "host/look.h"

namespace cordon {
namespace {

constexpr int kDeepest = 128;
constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;

std::vector<std::string> names_in(int directory) {
  DirectoryNames names;
  names.read(directory);
  std::vector<std::string> result;
  for (const DirectoryEntry& entry : names.entries()) result.emplace_back(entry.name);
  return result;
}

int copy_file(int from, const std::string& name, int into, const std::string& as, unsigned mode) {
  const Fd source(::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!source.valid()) return errno;
  const Fd target(::openat(into, as.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                           mode & 0700));
  if (!target.valid()) return errno;
  return copy_bytes(source.get(), target.get());
}

int copy_link(int from, const std::string& name, int into, const std::string& as) {
  const auto target = read_link(from, name);
  if (!target) return errno;
  return ::symlinkat(target->c_str(), into, as.c_str()) == 0 ? 0 : errno;
}

int copy(int from, const std::string& name, int into, const std::string& as, int depth);

int copy_directory(int from, const std::string& name, int into, const std::string& as, int depth) {
  if (depth >= kDeepest) return ELOOP;
  const Fd source(::openat(from, name.c_str(), kOpenDirectory));
  if (!source.valid()) return errno;
  if (::mkdirat(into, as.c_str(), 0700) != 0) return errno;
  const Fd target(::openat(into, as.c_str(), kOpenDirectory));
  if (!target.valid()) return errno;
  for (const std::string& child : names_in(source.get()))
    if (const int error = copy(source.get(), child, target.get(), child, depth + 1); error != 0)
      return error;
  return 0;
}

int copy(int from, const std::string& name, int into, const std::string& as, int depth) {
  const auto seen = look(from, name);
  if (!seen) return ENOENT;
  if (seen->symlink) return copy_link(from, name, into, as);
  if (seen->kind == FileKind::Regular) return copy_file(from, name, into, as, seen->mode);
  if (seen->kind == FileKind::Directory) return copy_directory(from, name, into, as, depth);
  return 0;
}

int remove_at_depth(int directory, const std::string& name, int depth) {
  if (::unlinkat(directory, name.c_str(), 0) == 0) return 0;
  if (errno != EISDIR && errno != EPERM) return errno;
  if (depth >= kDeepest) return ELOOP;
  const Fd fd(::openat(directory, name.c_str(), kOpenDirectory));
  if (!fd.valid()) return errno;
  for (const std::string& child : names_in(fd.get()))
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

int move_by_copy(int from, const std::string& name, int into, const std::string& as) {
  if (look(into, as)) return EEXIST;
  if (const int error = copy(from, name, into, as, 0); error != 0) {
    remove_tree(into, as);
    return error;
  }
  return remove_tree(from, name);
}

}  // namespace cordon
