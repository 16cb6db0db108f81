#include "changes/layer_marks.h"

#include <fcntl.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.h"
#include "changes/single_file.h"

namespace cordon {
namespace {

constexpr const char* kDeleted = "user.cordon.deleted";
constexpr const char* kCopied = "user.cordon.copied";
constexpr std::size_t kMostMark = 128;
constexpr const char* kUnfinished = "mark.new";

// There is no call that takes a directory, a name and an attribute on every kernel.
std::string path_of(int directory, const std::string& name) {
  return "/proc/self/fd/" + std::to_string(directory) + "/" + name;
}

bool has(int directory, const std::string& name, const char* attribute) {
  return ::lgetxattr(path_of(directory, name).c_str(), attribute, nullptr, 0) >= 0;
}

// An attribute of a file is written by who may write the file.
template <typename Change>
int with_rights(int directory, const std::string& name, Change change) {
  int error = change() == 0 ? 0 : errno;
  if (error != EACCES) return error;
  const auto status = lstat_at(directory, name);
  if (!status) return errno;
  error = change_mode(directory, name, S_IRUSR | S_IWUSR);
  if (error == 0 && change() != 0) error = errno;
  const int restored = change_mode(directory, name, status->st_mode & 07777U);
  return error != 0 ? error : restored;
}

}  // namespace

bool LayerMarks::is_deleted(int directory, const std::string& name,
                            const struct stat& status) const {
  if (by_ == By::Kernel) return S_ISCHR(status.st_mode) && status.st_rdev == 0;
  return S_ISREG(status.st_mode) && status.st_size == 0 && has(directory, name, kDeleted);
}

bool LayerMarks::hides(int directory) const {
  char mark = 0;
  return by_ == By::Kernel && ::fgetxattr(directory, "user.overlay.opaque", &mark, 1) == 1 &&
         mark == 'y';
}

bool LayerMarks::was_copied(int directory, const std::string& name) const {
  return has(directory, name, by_ == By::Kernel ? "user.overlay.origin" : kCopied);
}

int mark_deleted(int workplace, int directory, const std::string& name, std::string_view seal) {
  const Fd made(::openat(workplace, kUnfinished,
                         O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!made.valid() || ::fsetxattr(made.get(), kDeleted, seal.data(), seal.size(), 0) != 0 ||
      ::renameat(workplace, kUnfinished, directory, name.c_str()) != 0) {
    return errno;
  }
  return 0;
}

int try_marks(int workplace) {
  constexpr const char* kTried = "mark.tried";
  const int error = mark_deleted(workplace, workplace, kTried, "tried");
  // What is left of an attempt that failed has the other name.
  for (const char* name : {kTried, kUnfinished}) (void)::unlinkat(workplace, name, 0);
  return error;
}

bool is_marked_deleted(int directory, const std::string& name, std::string_view seal) {
  std::array<char, kMostMark> value{};
  const ssize_t got =
      ::lgetxattr(path_of(directory, name).c_str(), kDeleted, value.data(), value.size());
  return got >= 0 && std::string_view(value.data(), static_cast<std::size_t>(got)) == seal;
}

int mark_copied(int directory, const std::string& name) {
  const std::string path = path_of(directory, name);
  return with_rights(directory, name,
                     [&] { return ::lsetxattr(path.c_str(), kCopied, "y", 1, 0); });
}

int clear_marks(int directory, const std::string& name) {
  const std::string path = path_of(directory, name);
  for (const char* attribute : {kDeleted, kCopied}) {
    const int error = with_rights(directory, name, [&] {
      const int removed = ::lremovexattr(path.c_str(), attribute);
      return removed != 0 && errno == ENODATA ? 0 : removed;
    });
    if (error != 0) return error;
  }
  return 0;
}

}  // namespace cordon
