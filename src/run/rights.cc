#include "run/rights.h"

#include <sys/syscall.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/fd.h"
#include "host/inspect.h"
#include "sys/ids.h"

namespace cordon {
namespace {

// As it is sent from the process that tries to the one that asks.
struct Tried {
  std::int32_t error = 0;
  std::uint32_t length = 0;  // of the part of the path that refuses
};

// The effective ids count, which the library's wrapper does not promise on every kernel.
int may_access(int directory, const char* path, int mode) {
  const int flags = AT_EACCESS | (*path == '\0' ? AT_EMPTY_PATH : 0);
  if (::syscall(SYS_faccessat2, directory, path, mode, flags) == 0) return 0;
  // Linux before 5.8 cannot be asked; what the policy says stands.
  return errno == ENOSYS ? 0 : errno;
}

// `path` is changed while it is looked at. No allocation: a program with other threads may have
// been copied.
Tried try_access(int root, char* path, std::size_t below, int mode) {
  const std::size_t length = std::strlen(path);
  char* rest = path + below;
  const int error = may_access(root, rest, mode);
  if (error != EACCES || *rest == '\0') return {error, static_cast<std::uint32_t>(length)};
  if (may_access(root, "", X_OK) != 0) {
    return {error, static_cast<std::uint32_t>(below > 1 ? below - 1 : 1)};
  }
  for (char* at = rest; *at != '\0'; ++at) {
    if (*at != '/') continue;
    *at = '\0';
    const bool closed = may_access(root, rest, X_OK) == EACCES;
    *at = '/';
    if (closed) return {error, static_cast<std::uint32_t>(at - path)};
  }
  return {error, static_cast<std::uint32_t>(length)};
}

// For a root that cannot be opened: what is closed lies on the way to it.
Tried try_from_top(char* path, int mode) {
  const int top = ::open("/", O_PATH | O_CLOEXEC);
  return top < 0 ? Tried{errno, 1} : try_access(top, path, 1, mode);
}

[[noreturn]] void try_as(const char* root, char* path, std::size_t below, int mode, const Owner& as,
                         int answer) {
  Tried tried;
  if (sys::keep_only_id_capabilities() < 0) ::_exit(1);
  // A backend opens what it mounts before it becomes the owner, without root's powers.
  int opened = ::open(root, O_PATH | O_CLOEXEC);
  if (sys::become(as.uid, as.gid) < 0) ::_exit(1);
  if (opened < 0) opened = ::open(root, O_PATH | O_CLOEXEC);
  tried = opened < 0 ? try_from_top(path, mode) : try_access(opened, path, below, mode);
  const std::string_view bytes(reinterpret_cast<const char*>(&tried), sizeof tried);
  ::_exit(write_whole(answer, bytes) == 0 ? 0 : 1);
}

Result<Tried> ask_as(const std::string& root, std::string& path, std::size_t below, int mode,
                     const Owner& as) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return fail(setup_error("cannot make a pipe", errno));
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return fail(setup_error("cannot start a process", errno));
  if (child == 0) try_as(root.c_str(), path.data(), below, mode, as, writing.get());
  writing.reset();
  const auto answer = read_all(reading.get(), sizeof(Tried));
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  Tried tried;
  if (!answer || answer->size() != sizeof tried) {
    return fail(setup_error("cannot try what the command may reach", 0));
  }
  std::memcpy(&tried, answer->data(), sizeof tried);
  return tried;
}

}  // namespace

Result<Rights> rights_to(const std::string& root, const std::string& path, int mode,
                         const Owner& as) {
  std::string way = path;
  std::size_t below = way.size();
  if (path != root) below = root == "/" ? 1 : root.size() + 1;
  Tried tried;
  if (::geteuid() == 0) {
    CORDON_TRY(answer, ask_as(root, way, below, mode, as));
    tried = answer;
  } else {
    const Fd opened(::open(root.c_str(), O_PATH | O_CLOEXEC));
    tried = opened.valid() ? try_access(opened.get(), way.data(), below, mode)
                           : try_from_top(way.data(), mode);
  }
  return Rights{tried.error, tried.error == 0 ? std::string() : path.substr(0, tried.length)};
}

}  // namespace cordon
