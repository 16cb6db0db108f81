// Pager: what a person at a terminal is answered goes through a pager if it is longer than the
// screen. Elsewhere, or where none can be started, it is written as it is.
//
// It is the program of PAGER, or less of the system. It is looked up in the directories of the
// system alone: a PATH that leads into the project must not choose a program that a run has written
// to show what that run did.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
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

  // Whether there is a reader for more. Up to one screen is kept until the end.
  bool say(std::string_view text);
  [[nodiscard]] bool is_started() const { return process_ >= 0; }
  // Where the text ends up, for colours.
  [[nodiscard]] int terminal() const;

 private:
  void start();

  std::string program_;  // empty: none is to be started
  std::size_t lines_ = 0;
  std::size_t most_lines_ = 0;
  std::string kept_;
  pid_t process_ = -1;
  Fd pipe_;
};

}  // namespace cordon
