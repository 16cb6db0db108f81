#include "faces/cli/session.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

#include "run/supervisor.h"

namespace cordon {
namespace {

extern "C" void ignore_signal(int) {}

}  // namespace

bool at_a_terminal() {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 &&
         ::isatty(STDERR_FILENO) == 1;
}

Fd watch_signals() {
  sigset_t watched = supervised_signals();
  struct sigaction before {};
  if (::sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler == SIG_IGN) {
    ::sigdelset(&watched, SIGHUP);
  }
  ::sigprocmask(SIG_BLOCK, &watched, nullptr);
  // A handler, unlike SIG_IGN, is not inherited by the command.
  struct sigaction pipe {};
  if (::sigaction(SIGPIPE, nullptr, &pipe) == 0 && pipe.sa_handler == SIG_DFL) {
    pipe.sa_handler = ignore_signal;
    pipe.sa_flags = SA_RESTART;
    ::sigaction(SIGPIPE, &pipe, nullptr);
  }
  return Fd(::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK));
}

}  // namespace cordon
