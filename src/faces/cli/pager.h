// Pager: a long answer to a person at a terminal goes through a pager, as git's does. Elsewhere, or
// where none can be started, it is written as it is.
//
// It is the program of PAGER, or less of the system. It is looked up in the directories of the
// system alone: a PATH that leads into the project must not choose a program that a run has written
// to show what that run did.
#pragma once

#include <sys/types.h>

#include <string_view>

#include "base/fd.h"

namespace cordon {

class Pager {
 public:
  enum class Use { AtTerminal, Never };
  explicit Pager(Use use);
  ~Pager();  // waits until the person has read
  Pager(const Pager&) = delete;
  Pager& operator=(const Pager&) = delete;

  // Whether there is a reader for more.
  bool say(std::string_view text);
  [[nodiscard]] bool is_started() const { return process_ >= 0; }
  // Where the text ends up, for colours.
  [[nodiscard]] int terminal() const;

 private:
  pid_t process_ = -1;
  Fd pipe_;
};

}  // namespace cordon
