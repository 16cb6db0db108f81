#include "backend/native/confine.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <string_view>
#include <variant>

#include "backend/native/in_child.h"
#include "sys/answer.h"
#include "sys/calls.h"
#include "sys/landlock.h"
#include "sys/notify.h"

namespace cordon::native {
namespace {

int read_probe(const Prepared& prepared) {
  const int fd = ::open(prepared.landlock_probe, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

int try_socket(int family, int type) {
  const int fd = ::socket(family, type | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

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

// Anyone may read a limit of a process of one's own.
int try_filtered_call() {
  rlimit limit{};
  return ::prlimit(::getpid(), RLIMIT_CORE, nullptr, &limit) < 0 ? errno : 0;
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
    if (prepared_.sabotage == Sabotage::NoNewPrivileges) return 0;
    return sys::zero_or_errno(::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL));
  }

  int operator()(const op::RestrictLandlock&) const {
    report_.landlock_read_before = read_probe(prepared_);
    if (prepared_.sabotage == Sabotage::Landlock) return 0;
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
    if (prepared_.sabotage == Sabotage::Capabilities) return 0;
    return o.bounding ? sys::set_capabilities_empty() : sys::drop_own_capabilities();
  }

  int operator()(const op::InstallSeccomp& o) const {
    if (prepared_.sabotage == Sabotage::Seccomp) return 0;
    const auto length = static_cast<unsigned short>(prepared_.filter.size());
    if (!o.brokered || prepared_.sabotage == Sabotage::Broker) {
      return sys::install_filter(prepared_.filter.data(), length);
    }
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

void send_report(const CommandReport& report) {
  // One write: far below PIPE_BUF, so it is never split.
  ssize_t written = 0;
  do {
    written = ::write(kCommandReportFd, &report, sizeof report);
  } while (written < 0 && errno == EINTR);
  // The first process waits for a report or for the end of this one.
  if (written != static_cast<ssize_t>(sizeof report)) ::_exit(125);
}

[[noreturn]] void give_up_command(CommandReport& report, Stage stage, std::uint32_t index,
                                  int error) {
  report.stage = stage;
  report.index = index;
  report.error = error;
  send_report(report);
  ::_exit(125);
}

// Tries each candidate as execvp would; a file that is there but cannot be run wins over "not
// found".
int execute(const Prepared& prepared) {
  int error = ENOENT;
  for (const char* candidate : prepared.candidates) {
    const int failed = -sys::execute(candidate, prepared.argv.data(), prepared.environment.data());
    if (failed == ENOENT || failed == ENOTDIR) {
      // The file is there: what is missing is the interpreter it names.
      if (failed == ENOENT && ::access(candidate, F_OK) == 0) return ELIBACC;
      continue;
    }
    if (failed != EACCES) return failed;
    error = EACCES;
  }
  return error;
}

}  // namespace

void become_command(const Prepared& prepared, const CommandStart& start) {
  CommandReport report;
  ::umask(start.mask);
  // Before anything of the command's own is allocated, so that all of it is counted.
  for (const int group : start.groups) {
    if (group >= 0 && ::write(group, "0", 1) != 1) ::_exit(125);
  }
  // Out of the way first: the fixed numbers may be in use by each other.
  const int high_report = ::fcntl(start.report, F_DUPFD_CLOEXEC, 64);
  const int high_release = ::fcntl(kReleaseFd, F_DUPFD_CLOEXEC, 64);
  const int high_ruleset = start.ruleset >= 0 ? ::fcntl(start.ruleset, F_DUPFD_CLOEXEC, 64) : -1;
  if (::dup3(high_report, kCommandReportFd, O_CLOEXEC) < 0 ||
      ::dup3(high_release, kCommandReleaseFd, O_CLOEXEC) < 0) {
    ::_exit(125);
  }
  Confine confine(prepared, high_ruleset, report);
  std::uint32_t index = 0;
  for (const Op& operation : prepared.plan->confine) {
    if (const int error = std::visit(confine, operation); error < 0) {
      give_up_command(report, Stage::Confine, index, -error);
    }
    ++index;
  }
  report.landlock_read = read_probe(prepared);
  report.landlock_signal = ::kill(::getppid(), 0) < 0 ? errno : 0;
  if (prepared.shares_host) {
    // In network mode allow a call about the internet would wait for the broker.
    report.refused_socket =
        prepared.allows_hosts ? try_socket(AF_NETLINK, SOCK_RAW) : try_socket(AF_INET, SOCK_DGRAM);
    report.filtered_call = try_filtered_call();
  }
  send_report(report);

  char released = 0;
  ssize_t got = 0;
  do {
    got = ::read(kCommandReleaseFd, &released, 1);
  } while (got < 0 && errno == EINTR);
  if (got < 0) give_up_command(report, Stage::Confine, index, errno);
  // End of file: the supervisor is gone or did not like what was measured.
  if (got != 1) ::_exit(125);
  default_signals();
  give_up_command(report, Stage::Execute, index, execute(prepared));
}

}  // namespace cordon::native
