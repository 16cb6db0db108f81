#include "base/private_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/path.h"
#include "base/text.h"

namespace cordon {

Result<void> make_private_directories(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  if (errno == ENOENT && path.size() > 1) {
    CORDON_CHECK(make_private_directories(std::string(parent(path))));
    if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  }
  return fail(setup_error("cannot make " + quote(path), errno,
                          "set XDG_STATE_HOME to a directory this user can write"));
}

Result<Fd> open_private_directory(const std::string& path) {
  if (path.empty() || path.front() != '/') {
    return fail(setup_error("there is no state directory", 0, "set HOME or XDG_STATE_HOME"));
  }
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd fd(::open(path.c_str(), kFlags));
  if (!fd.valid() && errno == ENOENT) {
    CORDON_CHECK(make_private_directories(path));
    fd = Fd(::open(path.c_str(), kFlags));
  }
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) < 0) {
    return fail(setup_error("cannot open " + quote(path), errno,
                            "set XDG_STATE_HOME to a directory this user can write"));
  }
  if (status.st_uid != ::geteuid() || (status.st_mode & 022) != 0) {
    return fail(
        setup_error("state directory " + quote(path) + " belongs to or can be written by others", 0,
                    "chmod 700 it, or set XDG_STATE_HOME"));
  }
  return fd;
}

}  // namespace cordon
