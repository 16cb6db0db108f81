#include "apply/layers.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "sys/calls.h"
#include "sys/landlock.h"

namespace cordon::apply {
namespace {

// An ordinary user may not empty the bounding set; under no_new_privs nothing can be gained from
// it.
int drop_capabilities() {
  const int error = sys::set_capabilities_empty();
  return error == -EPERM ? sys::drop_own_capabilities() : error;
}

int close_descriptors(int kept) {
  constexpr unsigned kFirst = STDERR_FILENO + 1;
  if (kept < 0) return sys::close_range(kFirst, UINT_MAX);
  const auto number = static_cast<unsigned>(kept);
  if (number > kFirst) {
    if (const int error = sys::close_range(kFirst, number - 1); error < 0) return error;
  }
  return sys::close_range(number + 1, UINT_MAX);
}

// A file that is there but cannot be executed wins over "not found".
int execute(const Layers& layers) {
  int error = ENOENT;
  for (const char* candidate : layers.candidates) {
    const int failed = -sys::execute(candidate, layers.argv, layers.environment);
    if (failed == ENOENT || failed == ENOTDIR) continue;
    if (failed != EACCES) return failed;
    error = EACCES;
  }
  return error;
}

}  // namespace

LayerFailure become_command(const Layers& layers) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0) {
    return {Status::Permission, "cannot set no_new_privs", errno};
  }
  if (const int error = sys::landlock_restrict_self(layers.ruleset); error < 0) {
    return {Status::Landlock, "cannot apply Landlock", -error};
  }
  if (const int error = close_descriptors(layers.status_fd); error < 0) {
    return {Status::Permission, "cannot close inherited descriptors", -error};
  }
  if (const int error = drop_capabilities(); error < 0) {
    return {Status::Capabilities, "cannot drop capabilities", -error};
  }
  const auto length = static_cast<unsigned short>(layers.filter.size());
  if (const int error = sys::install_filter(layers.filter.data(), length); error < 0) {
    return {Status::Seccomp, "cannot install the filter", -error};
  }
  return {Status::Execute, "cannot execute the command", execute(layers)};
}

}  // namespace cordon::apply
