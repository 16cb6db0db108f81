#include "backend/mxc/terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace cordon::mxc {

Result<Terminal> open_terminal(const CommandStreams& streams) {
  Terminal terminal;
  if (!streams.terminal) return terminal;
  const auto fail_with = [](int number) {
    return fail(setup_error("cannot make a terminal", number));
  };
  terminal.master = Fd(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.master.valid() || ::unlockpt(terminal.master.get()) < 0) return fail_with(errno);
  // By the master itself: a name could lead elsewhere.
  terminal.slave = Fd(::ioctl(terminal.master.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal.slave.valid()) return fail_with(errno);
  const winsize window{streams.rows, streams.columns, 0, 0};
  termios settings{};
  if (::ioctl(terminal.master.get(), TIOCSWINSZ, &window) < 0 ||
      ::tcgetattr(terminal.slave.get(), &settings) < 0) {
    return fail_with(errno);
  }
  settings.c_cc[VSUSP] = _POSIX_VDISABLE;
  if (::tcsetattr(terminal.slave.get(), TCSANOW, &settings) < 0) return fail_with(errno);
  return terminal;
}

}  // namespace cordon::mxc
