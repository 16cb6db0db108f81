#include "sandbox/native/become_command.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "sandbox/native/confine.h"
#include "sandbox/native/sandbox_init.h"
#include "sys/calls.h"

namespace cordon::native {
namespace {

int try_socket(int family, int type) {
  const int fd = ::socket(family, type | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

// Anyone may read a limit of a process of one's own.
int try_filtered_call() {
  rlimit limit{};
  return ::prlimit(::getpid(), RLIMIT_CORE, nullptr, &limit) < 0 ? errno : 0;
}

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
    if (group >= 0 && join_group(group) < 0) ::_exit(125);
  }
  // Out of the way first: the fixed numbers may be in use by each other.
  const int high_report = ::fcntl(start.report, F_DUPFD_CLOEXEC, 64);
  const int high_release = ::fcntl(kReleaseFd, F_DUPFD_CLOEXEC, 64);
  const int high_ruleset = start.ruleset >= 0 ? ::fcntl(start.ruleset, F_DUPFD_CLOEXEC, 64) : -1;
  if (::dup3(high_report, kCommandReportFd, O_CLOEXEC) < 0 ||
      ::dup3(high_release, kCommandReleaseFd, O_CLOEXEC) < 0) {
    ::_exit(125);
  }
  std::uint32_t index = 0;
  for (const Op& operation : prepared.plan->confine) {
    if (const int error = confine(operation, prepared, high_ruleset, report); error < 0) {
      give_up_command(report, Stage::Confine, index, -error);
    }
    ++index;
  }
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
