#include "run/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

namespace cordon {

void RawTerminal::enter() {
  if (raw_ || ::tcgetattr(STDIN_FILENO, &before_) < 0) return;
  termios raw = before_;
  ::cfmakeraw(&raw);
  raw_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void RawTerminal::restore() {
  if (raw_) ::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  raw_ = false;
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
