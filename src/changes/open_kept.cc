#include "changes/open_kept.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/path.h"
#include "host/look.h"

namespace cordon {
namespace {

constexpr mode_t kModeBits = 07777;

// Gives the owner `rights` for what `name` is, and returns the mode that it had; nothing if that
// cannot be done.
std::optional<mode_t> give_rights(int directory, const std::string& name, mode_t rights) {
  const Fd found(::openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!found.valid() || ::fstat(found.get(), &status) != 0 || S_ISLNK(status.st_mode)) {
    return std::nullopt;
  }
  const mode_t mode = status.st_mode & kModeBits;
  const std::string link = "/proc/self/fd/" + std::to_string(found.get());
  if (::chmod(link.c_str(), mode | rights) != 0) return std::nullopt;
  return mode;
}

}  // namespace

KeptDirectory& KeptDirectory::operator=(KeptDirectory&& other) noexcept {
  close_again();
  directory_ = std::move(other.directory_);
  closed_ = std::exchange(other.closed_, std::nullopt);
  return *this;
}

void KeptDirectory::close_again() {
  if (closed_ && directory_.valid()) (void)::fchmod(directory_.get(), *closed_);
  closed_.reset();
}

KeptDirectory KeptDirectory::open(int directory, const std::string& name) {
  KeptDirectory opened;
  opened.directory_ = Fd(::openat(directory, name.c_str(), kOpenDirectory));
  if (opened.valid() && ::faccessat(opened.get(), ".", R_OK | W_OK | X_OK, AT_EACCESS) == 0) {
    return opened;
  }
  if (!opened.valid() && errno != EACCES) return opened;
  opened.closed_ = give_rights(directory, name, S_IRWXU);
  if (!opened.closed_) return opened;
  if (!opened.valid()) opened.directory_ = Fd(::openat(directory, name.c_str(), kOpenDirectory));
  return opened;
}

KeptDirectory KeptDirectory::open_below(int directory, std::string_view path) {
  KeptDirectory at = open(directory, ".");
  for (const std::string_view part : components(path)) {
    if (!at.valid()) return at;
    KeptDirectory below = open(at.get(), std::string(part));
    at = std::move(below);
  }
  return at;
}

Fd open_kept_file(int directory, const std::string& name) {
  constexpr int kRead = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Fd opened(::openat(directory, name.c_str(), kRead));
  if (opened.valid() || errno != EACCES) return opened;
  const auto mode = give_rights(directory, name, S_IRUSR);
  if (!mode) {
    errno = EACCES;
    return opened;
  }
  opened = Fd(::openat(directory, name.c_str(), kRead));
  if (opened.valid()) (void)::fchmod(opened.get(), *mode);
  return opened;
}

}  // namespace cordon
