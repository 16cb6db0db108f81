#include <fcntl.h>

#include <cerrno>

#include "base/fd.h"
#include "base/text.h"
#include "host/look.h"
#include "host/resolve.h"

namespace cordon {
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
  const std::optional<Looked> seen = look(fd.get());
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
