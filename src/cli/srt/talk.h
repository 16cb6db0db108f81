// How sandbox-runtime's command line speaks: one line for an error, and marked lines for those who
// ask what is done. Programs look for some of its phrases.
#pragma once

#include <string_view>

#include "cordon/error.h"

namespace cordon::srt {

inline constexpr int kRefused = 1;

// `Error: what`, notes, then `hint: ...`. The exit status for it.
int refuse(const Error& error);

class Debug {
 public:
  explicit Debug(bool wanted) : wanted_(wanted) {}
  void say(std::string_view line) const;

 private:
  bool wanted_;
};

}  // namespace cordon::srt
