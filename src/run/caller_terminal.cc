#include "run/caller_terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>

namespace cordon {

void RawTerminal::enter() {
  // Once: after a stop that came without notice the modes are a shell's, or still raw.
  if (!known_) known_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
  if (!known_) return;
  termios raw = before_;
  ::cfmakeraw(&raw);
  raw_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void RawTerminal::restore() {
  if (raw_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  raw_ = false;
}

bool in_foreground() {
  const pid_t group = ::tcgetpgrp(STDIN_FILENO);
  return group < 0 || group == ::getpgrp();
}

void stop_as_by_key() {
  sigset_t stop;
  ::sigemptyset(&stop);
  ::sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  // Blocked for the signalfd; delivered here, where the kernel drops it in an orphaned group.
  ::pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  ::pthread_sigmask(SIG_BLOCK, &stop, nullptr);
}

WindowSize window_size() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0) return {};
  return {size.ws_row, size.ws_col};
}

void copy_window_size(int master) {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) ::ioctl(master, TIOCSWINSZ, &size);
}

}  // namespace cordon
