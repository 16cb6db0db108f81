// The caller's terminal while a command runs behind a pty: raw, and put back on every way out.
#pragma once

#include <termios.h>

namespace cordon {

class RawTerminal {
 public:
  RawTerminal() = default;
  ~RawTerminal() { restore(); }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  // Standard input becomes raw; keys such as Ctrl-C go through the pty as bytes. Only to be called
  // in the foreground: elsewhere the kernel would stop this process for it.
  void enter();
  void restore();
  // The terminal is somebody else's now, and so are its modes.
  void forget() { raw_ = false; }

 private:
  bool raw_ = false;
  bool known_ = false;
  termios before_{};
};

// False for a background job: it may neither read its terminal nor change its modes.
bool in_foreground();
// Stops this process as the suspend key would, and returns when it is continued; at once if nobody
// could continue it.
void stop_as_by_key();

struct WindowSize {
  unsigned short rows = 0;
  unsigned short columns = 0;
};
// Of the caller's terminal; zero if there is none.
WindowSize window_size();
// Gives the pty the size of the caller's window.
void copy_window_size(int master);

}  // namespace cordon
