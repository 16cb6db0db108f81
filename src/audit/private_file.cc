#include "audit/private_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "audit/record.h"
#include "base/private_directory.h"
#include "base/text.h"

namespace cordon::audit {
namespace {

constexpr const char* kStateHint = "set XDG_STATE_HOME to a directory this user can write";

bool of_this_user_alone(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & 077) == 0;
}

}  // namespace

Result<Fd> open_private_directory(const std::string& path, IfAbsent absent) {
  if (path.empty() || path.front() != '/') {
    return fail(
        audit_error("there is no directory for the audit log", 0, "set HOME or XDG_STATE_HOME"));
  }
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd fd(::open(path.c_str(), kFlags));
  if (!fd.valid() && errno == ENOENT && absent == IfAbsent::Make) {
    if (const auto made = make_private_directories(path); !made) {
      return fail(audit_error("cannot make " + quote(path), made.error().error_number, kStateHint));
    }
    fd = Fd(::open(path.c_str(), kFlags));
  }
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) < 0) {
    const int why = errno;
    if (why == ENOTDIR || why == ELOOP) {
      return fail(audit_error("audit directory " + quote(path) + " is a symlink or no directory",
                              why, "remove it, or set XDG_STATE_HOME"));
    }
    return fail(audit_error("cannot open the audit directory " + quote(path), why, kStateHint));
  }
  if (!of_this_user_alone(status)) {
    return fail(audit_error("audit directory " + quote(path) + " is open to others", 0,
                            "make it yours and chmod 700 it"));
  }
  return fd;
}

Result<Fd> open_private_file(int directory, const std::string& name, int flags) {
  // Non-blocking: a FIFO planted under this name would otherwise stop the launch for ever.
  Fd fd(::openat(directory, name.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) < 0) {
    return fail(audit_error("cannot open audit/" + name, errno));
  }
  if (!S_ISREG(status.st_mode) || !of_this_user_alone(status)) {
    return fail(audit_error("audit/" + name + " is not a file of this user alone", 0,
                            "make it yours and chmod 600 it"));
  }
  return fd;
}

}  // namespace cordon::audit
