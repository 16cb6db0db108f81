#include "backend/native/scope.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "sys/landlock.h"

namespace cordon::native {
namespace {

// Landlock's signal scope came with this one.
constexpr int kAbi = 6;

// Supplementary groups would still open host sockets and files by their group bits. Only root may
// drop them. The raw call: the library's wrapper would signal threads that are not in this process.
int drop_groups() {
  if (::geteuid() != 0) return 0;
  return ::syscall(SYS_setgroups, 0, nullptr) < 0 && errno != EPERM ? -errno : 0;
}

// Every domain forbids links and renames from one directory to another unless it grants them, also
// one that is about signals alone. Which files may be moved where is for the command's own domain.
int allow_moving(int ruleset) {
  const int root = ::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return -errno;
  const int added = sys::landlock_add_path(ruleset, root, sys::landlock::kRefer);
  ::close(root);
  return added;
}

}  // namespace

int scope_processes() {
  if (const int error = drop_groups(); error < 0) return error;
  const pid_t parent = ::getppid();
  const bool could = ::kill(parent, 0) == 0;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) < 0) return -errno;
  const int ruleset =
      sys::landlock_create_ruleset(sys::landlock::kRefer, sys::landlock::scopes(kAbi), 0);
  if (ruleset < 0) return ruleset;
  if (const int error = allow_moving(ruleset); error < 0) return error;
  const int restricted = sys::landlock_restrict_self(ruleset);
  ::close(ruleset);
  if (restricted < 0) return restricted;
  const bool can = ::kill(parent, 0) == 0 || errno != EPERM;
  // A parent that ended meanwhile proves nothing, and there is nobody left to run for.
  if (!could || can) return -ENOTSUP;
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL) < 0) return -errno;
  return 0;
}

}  // namespace cordon::native
