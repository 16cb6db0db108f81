#include "backend/native/confine.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <variant>

#include "backend/native/in_child.h"
#include "sys/answer.h"
#include "sys/calls.h"
#include "sys/landlock.h"
#include "sys/notify.h"

namespace cordon::native {
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
