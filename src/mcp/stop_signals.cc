#include "mcp/stop_signals.h"

#include <sys/signalfd.h>

#include <csignal>

namespace cordon::mcp {

Fd watch_stop_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, signal);
  Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  ::sigaddset(&set, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return fd;
}

}  // namespace cordon::mcp
