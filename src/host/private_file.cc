#include "host/private_file.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/fd.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/resolve.h"

namespace cordon {
namespace {

int place_file(int directory, const std::string& name, std::string_view content, unsigned mode,
               unsigned how) {
  const std::string temporary = unguessable_name();
  if (temporary.empty()) return EIO;
  const Fd fd(::openat(directory, temporary.c_str(),
                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return errno;
  int error = write_whole(fd.get(), content);
  if (error == 0 && ::fchmod(fd.get(), mode) != 0) error = errno;
  if (error == 0 && ::renameat2(directory, temporary.c_str(), directory, name.c_str(), how) != 0)
    error = errno;
  if (error != 0) ::unlinkat(directory, temporary.c_str(), 0);
  return error;
}

}  // namespace

std::string unguessable_name() {
  std::array<unsigned char, 12> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) return {};
  std::string name = ".cordon-";
  for (const unsigned char byte : bytes) {
    name += "0123456789abcdef"[byte >> 4];
    name += "0123456789abcdef"[byte & 15];
  }
  return name;
}

int put_file(int directory, const std::string& name, std::string_view content, unsigned mode) {
  return place_file(directory, name, content, mode, RENAME_NOREPLACE);
}

int replace_file(int directory, const std::string& name, std::string_view content, unsigned mode) {
  return place_file(directory, name, content, mode, 0);
}

namespace {

constexpr std::size_t kTrustedFileLimit = std::size_t{1024} * 1024;

Error refused_file(const std::string& path, std::string what, std::string hint,
                   int error_number = 0) {
  Error error = policy_error(std::move(what), std::move(hint));
  error.place = Place{path, 0, 0};
  error.error_number = error_number;
  return error;
}

}  // namespace

Result<std::string> read_trusted_file(const std::string& path, const Caller& caller) {
  // Non-blocking: a FIFO planted under this name would otherwise stop the launch for ever.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd.valid()) {
    const int why = errno;
    if (why == ELOOP)
      return fail(refused_file(path, "the file is a symlink", "name the file itself"));
    if (why == ENOENT || why == ENOTDIR)
      return fail(refused_file(path, "the file does not exist", "check the path"));
    return fail(refused_file(path, "the file cannot be opened", "check its permissions", why));
  }
  const std::optional<FileInfo> seen = inspect_fd(fd.get());
  if (!seen) return fail(refused_file(path, "the file cannot be examined", "", errno));
  if (seen->kind != FileKind::Regular)
    return fail(refused_file(path, "it is not a regular file", "name a file"));
  if (seen->owner != 0 && seen->owner != caller.uid)
    return fail(refused_file(path, "the file belongs to another user",
                             "use a file owned by you or by root"));
  if ((seen->mode & kOthersMayWrite) != 0)
    return fail(
        refused_file(path, "the file may be written by others", "chmod go-w " + quote(path)));
  if (seen->size > kTrustedFileLimit)
    return fail(refused_file(path, "the file is larger than 1 MiB", "shorten it"));
  std::optional<std::string> content = read_all(fd.get(), kTrustedFileLimit);
  if (!content) return fail(refused_file(path, "the file cannot be read", "", errno));
  return std::move(*content);
}

}  // namespace cordon
