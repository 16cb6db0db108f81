#include "base/private_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/path.h"
#include "base/text.h"

namespace cordon {
namespace {

std::string_view word_for(DirectoryUse use) {
  return use == DirectoryUse::State ? "state" : "configuration";
}

std::string variable_for(DirectoryUse use) {
  return use == DirectoryUse::State ? "XDG_STATE_HOME" : "XDG_CONFIG_HOME";
}

std::string elsewhere(DirectoryUse use) {
  return "set " + variable_for(use) + " to a directory this user can write";
}

}  // namespace

Result<void> make_private_directories(const std::string& path, DirectoryUse use) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  if (errno == ENOENT && path.size() > 1) {
    CORDON_CHECK(make_private_directories(std::string(parent(path)), use));
    if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  }
  return fail(setup_error("cannot make " + quote(path), errno, elsewhere(use)));
}

Result<Fd> open_private_directory(const std::string& path, DirectoryUse use) {
  if (path.empty() || path.front() != '/') {
    return fail(setup_error("there is no " + std::string(word_for(use)) + " directory", 0,
                            "set HOME or " + variable_for(use)));
  }
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  Fd fd(::open(path.c_str(), kFlags));
  if (!fd.valid() && errno == ENOENT) {
    CORDON_CHECK(make_private_directories(path, use));
    fd = Fd(::open(path.c_str(), kFlags));
  }
  struct stat status {};
  if (!fd.valid() || ::fstat(fd.get(), &status) < 0) {
    return fail(setup_error("cannot open " + quote(path), errno, elsewhere(use)));
  }
  if (status.st_uid != ::geteuid() || (status.st_mode & 022) != 0) {
    return fail(setup_error(std::string(word_for(use)) + " directory " + quote(path) +
                                " belongs to or can be written by others",
                            0, "chmod 700 it, or set " + variable_for(use)));
  }
  return fd;
}

}  // namespace cordon
