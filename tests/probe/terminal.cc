// Attempts on the terminal the program was started from.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <string>

#include "probe.h"

namespace probe {
namespace {

// The standard input if it is a terminal, else the controlling one.
int terminal() {
  if (isatty(STDIN_FILENO) == 1) return STDIN_FILENO;
  return open("/dev/tty", O_RDWR | O_CLOEXEC);
}

Verdict push_input(unsigned long request) {
  const int fd = terminal();
  if (fd < 0) return refused("tty");
  for (const char c : std::string("TYPED\n")) {
    if (syscall(SYS_ioctl, fd, request, &c) < 0) return refused("ioctl");
  }
  return done();
}

Verdict push(const Arguments&) { return push_input(TIOCSTI); }
// The kernel looks at the low 32 bits only; an equality test on 64 lets this by.
Verdict push_high(const Arguments&) { return push_input(TIOCSTI | 0x100000000UL); }

Verdict linux_console(const Arguments&) {
  const int fd = terminal();
  if (fd < 0) return refused("tty");
  char code[2] = {3, 0};  // paste the selection
  return by_result(ioctl(fd, TIOCLINUX, code));
}

Verdict take_terminal(const Arguments&) { return by_result(open("/dev/tty", O_RDWR | O_CLOEXEC)); }

Verdict window_size(const Arguments&) {
  winsize size{};
  if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0) return refused();
  return done(std::to_string(size.ws_row) + "x" + std::to_string(size.ws_col));
}

Verdict make_raw(const Arguments&) {
  termios mode{};
  if (tcgetattr(STDIN_FILENO, &mode) < 0) return refused("tcgetattr");
  cfmakeraw(&mode);
  return by_result(tcsetattr(STDIN_FILENO, TCSANOW, &mode));
}

Verdict is_terminal(const Arguments&) {
  std::string text;
  for (int fd = 0; fd < 3; ++fd) text += isatty(fd) == 1 ? '1' : '0';
  return done(text);
}

constexpr Attempt kAttempts[] = {
    {"tiocsti", "", 0, push},
    {"tiocsti-high", "", 0, push_high},
    {"tioclinux", "", 0, linux_console},
    {"tty", "", 0, take_terminal},
    {"window", "", 0, window_size},
    {"raw-mode", "", 0, make_raw},
    {"isatty", "", 0, is_terminal},
};

}  // namespace

std::span<const Attempt> terminal_attempts() { return kAttempts; }

}  // namespace probe
