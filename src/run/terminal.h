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

  // Standard input becomes raw; keys such as Ctrl-C go through the pty as bytes.
  void enter();
  void restore();

 private:
  bool raw_ = false;
  termios before_{};
};

struct WindowSize {
  unsigned short rows = 0;
  unsigned short columns = 0;
};
// Of the caller's terminal; zero if there is none.
WindowSize window_size();
// Gives the pty the size of the caller's window.
void copy_window_size(int master);

}  // namespace cordon
