#include "sandbox/native/confine.h"

#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <cstdint>
#include <variant>

#include "sandbox/native/sandbox_init.h"
#include "sys/answer.h"
#include "sys/calls.h"
#include "sys/landlock.h"
#include "sys/notify.h"

namespace cordon::native {
namespace {

// The number in a file of /proc/sys; negative: -errno.
std::int64_t read_number(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  std::array<char, 32> text{};
  const ssize_t got = ::read(fd, text.data(), text.size());
  const int error = errno;
  ::close(fd);
  if (got < 0) return -error;
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + got, number);
  return parsed.ec == std::errc{} && number >= 0 ? number : -EINVAL;
}

int write_number(const char* path, std::int64_t number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  const ssize_t written = ::write(fd, text.data(), static_cast<std::size_t>(end - text.data()));
  const int error = errno;
  ::close(fd);
  return written < 0 ? -error : 0;
}

// The file of the user's own bound, and that of this namespace.
int halve(const char* of_user, const char* of_namespace) {
  const std::int64_t bound = read_number(of_user);
  if (bound < 0) return static_cast<int>(bound);
  return write_number(of_namespace, bound > 1 ? bound / 2 : bound);
}

}  // namespace

int bound_inotify() {
  if (const int error =
          halve("/proc/sys/fs/inotify/max_user_instances", "/proc/sys/user/max_inotify_instances");
      error < 0) {
    return error;
  }
  return halve("/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches");
}

int bound_signals() {
  rlimit limit{};
  if (::prlimit(0, RLIMIT_SIGPENDING, nullptr, &limit) < 0) return -errno;
  const rlim_t half = limit.rlim_cur > 1 ? limit.rlim_cur / 2 : limit.rlim_cur;
  limit = {half, half};
  return sys::zero_or_errno(::prlimit(0, RLIMIT_SIGPENDING, &limit, nullptr));
}

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

namespace {

// Taking any free port of loopback, which whoever runs a server does.
int try_tcp_bind() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  sockaddr_in any{};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int error = ::bind(fd, reinterpret_cast<const sockaddr*>(&any), sizeof any) < 0 ? errno : 0;
  ::close(fd);
  return error;
}

class Confine {
 public:
  Confine(const Prepared& prepared, int ruleset, CommandReport& report)
      : prepared_(prepared), ruleset_(ruleset), report_(report) {}

  int operator()(const op::ResourceLimit& o) const {
    const int resource = resource_of(o.name);
    if (resource < 0) return -EINVAL;
    rlimit current{};
    if (::prlimit(0, static_cast<__rlimit_resource>(resource), nullptr, &current) < 0) {
      return -errno;
    }
    const rlim_t value = o.value < current.rlim_max ? o.value : current.rlim_max;
    const rlimit limit{value, value};
    return sys::zero_or_errno(
        ::prlimit(0, static_cast<__rlimit_resource>(resource), &limit, nullptr));
  }

  int operator()(const op::NoNewPrivileges&) const {
    return sys::zero_or_errno(::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL));
  }

  int operator()(const op::RestrictLandlock&) const {
    report_.landlock_read_before = read_landlock_probe(prepared_);
    const int restricted = sys::landlock_restrict_self(ruleset_);
    // Not after the filter: it may show this call to a supervisor that does not listen yet.
    report_.landlock_read = read_landlock_probe(prepared_);
    if (prepared_.refuse_tcp) report_.tcp_bind = try_tcp_bind();
    return restricted;
  }

  int operator()(const op::CloseDescriptors&) const {
    return sys::close_range(kCommandReleaseFd + 1, UINT_MAX);
  }

  int operator()(const op::NewSession&) const {
    if (!prepared_.terminal) return sys::zero_or_errno(::setsid());
    // The first process leads the session, so that there is a parent to take notice: the kernel
    // lets no key stop a group whose parents are all in other sessions.
    if (::setpgid(0, 0) < 0) return -errno;
    return sys::zero_or_errno(::tcsetpgrp(STDIN_FILENO, ::getpid()));
  }

  int operator()(const op::NewKeyring&) const {
    const int result = sys::join_new_session_keyring();
    return result == -ENOSYS || result >= 0 ? 0 : result;  // a kernel without keys has none to leak
  }

  int operator()(const op::ChangeDirectory& o) const {
    return sys::zero_or_errno(::chdir(o.path.c_str()));
  }

  int operator()(const op::DropCapabilities& o) const {
    return o.bounding ? sys::set_capabilities_empty() : sys::drop_own_capabilities();
  }

  int operator()(const op::InstallSeccomp& o) const {
    const auto length = static_cast<unsigned short>(prepared_.filter.size());
    if (!o.brokered) return sys::install_filter(prepared_.filter.data(), length);
    report_.listener = sys::install_filter_with_listener(prepared_.filter.data(), length);
    return report_.listener;
  }

  // Done last, by the caller.
  int operator()(const op::Execute&) const { return 0; }

  // Everything else belongs to the first process.
  template <typename Other>
  int operator()(const Other&) const {
    return -ENOTSUP;
  }

 private:
  const Prepared& prepared_;
  int ruleset_;
  CommandReport& report_;
};

}  // namespace

int read_landlock_probe(const Prepared& prepared) {
  const int fd = ::open(prepared.landlock_probe, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

int confine(const Op& operation, const Prepared& prepared, int ruleset, CommandReport& report) {
  return std::visit(Confine(prepared, ruleset, report), operation);
}

int join_group(int group) { return ::write(group, "0", 1) == 1 ? 0 : -EIO; }

}  // namespace cordon::native
