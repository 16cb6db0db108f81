#include "mcp/tools/file_inside.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "mcp/inside/inside.h"
#include "mcp/inside/whole_file.h"
#include "run/contained_run.h"

namespace cordon::mcp {
namespace {

constexpr mode_t kNewFile = 0666;
constexpr mode_t kPermissions = 0777;

// Without waiting for a writer of a FIFO, and never through a link.
int read_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) < 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  if (!S_ISREG(status.st_mode)) return EINVAL;
  const auto bytes = read_bytes(file.get(), kMostRead);
  if (!bytes) return bytes.error();
  if (const int failed = write_bytes(STDOUT_FILENO, *bytes)) return failed;
  return write_bytes(STDERR_FILENO, std::to_string(status.st_size));
}

int write_file(const std::string& path, std::uint64_t size) {
  const auto content = read_bytes(STDIN_FILENO, size);
  if (!content) return content.error();
  if (content->size() != size) return EPIPE;
  return put_file(path, *content, std::nullopt);
}

// A file without a name, filled; or, where the file system has none of those, with a name of its
// own. Whoever is killed while filling it leaves nothing in the first case.
class NewFile {
 public:
  NewFile(int directory, mode_t mode)
      : directory_(directory),
        name_(".cordon-" + make_run_id()),
        file_(::openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode)) {
    if (file_.valid() || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return;
    file_ = Fd(::openat(directory, name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    named_ = file_.valid();
  }
  ~NewFile() {
    if (named_) ::unlinkat(directory_, name_.c_str(), 0);
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  [[nodiscard]] const Fd& file() const { return file_; }

  int become(const std::string& name) {
    if (!named_) {
      const std::string self = "/proc/self/fd/" + std::to_string(file_.get());
      if (::linkat(AT_FDCWD, self.c_str(), directory_, name_.c_str(), AT_SYMLINK_FOLLOW) < 0) {
        return errno;
      }
      named_ = true;
    }
    if (::renameat(directory_, name_.c_str(), directory_, name.c_str()) < 0) return errno;
    named_ = false;
    return 0;
  }

 private:
  int directory_;
  std::string name_;
  Fd file_;
  bool named_ = false;
};

int put_in_place(int directory, const std::string& name, std::string_view content,
                 std::optional<unsigned> mode) {
  const Fd file(
      ::openat(directory, name.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) < 0) return errno;
  if (!S_ISREG(status.st_mode)) return EINVAL;
  if (const int failed = write_bytes(file.get(), content)) return failed;
  if (::ftruncate(file.get(), static_cast<off_t>(content.size())) < 0) return errno;
  if (mode && ::fchmod(file.get(), *mode & kPermissions) < 0) return errno;
  return ::fsync(file.get()) < 0 ? errno : 0;
}

}  // namespace

int put_file(const std::string& path, std::string_view content, std::optional<unsigned> mode) {
  const std::string normal = normalize(path);
  const std::string name(basename(normal));
  if (name.empty()) return EISDIR;
  const Fd directory(::open(std::string(parent(normal)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return errno;
  struct stat old {};
  const bool exists = ::fstatat(directory.get(), name.c_str(), &old, AT_SYMLINK_NOFOLLOW) == 0;
  if (!exists && errno != ENOENT) return errno;
  if (exists && S_ISDIR(old.st_mode)) return EISDIR;
  if (exists && !S_ISREG(old.st_mode)) return EINVAL;
  if (exists && ::faccessat(directory.get(), name.c_str(), W_OK, AT_EACCESS) < 0) return errno;
  // A rename would give somebody else's file to us.
  if (exists && old.st_uid != ::geteuid())
    return put_in_place(directory.get(), name, content, mode);
  NewFile made(directory.get(), exists ? old.st_mode & kPermissions : kNewFile);
  if (!made.file().valid()) {
    const int why = errno;
    return exists ? put_in_place(directory.get(), name, content, mode) : why;
  }
  if (const int failed = write_bytes(made.file().get(), content)) return failed;
  const mode_t wanted = mode ? *mode : old.st_mode;
  if ((exists || mode) && ::fchmod(made.file().get(), wanted & kPermissions) < 0) return errno;
  if (::fsync(made.file().get()) < 0) return errno;
  return made.become(name);
}

int file_inside(std::span<const char* const> words) {
  int failed = EINVAL;
  if (words.size() == 2 && std::string_view(words[0]) == "read") {
    failed = read_file(words[1]);
  } else if (words.size() == 3 && std::string_view(words[0]) == "write") {
    if (const auto size = parse_number(words[2])) failed = write_file(words[1], *size);
  }
  if (words.size() == 4 && words[0] == kAskInside) failed = ask_inside(words.subspan(1));
  if (failed != 0) write_bytes(STDERR_FILENO, std::strerror(failed));
  return failed;
}

}  // namespace cordon::mcp
