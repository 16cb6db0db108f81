// The lines of a file or of a pipe, each with its number, in bounded memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cordon {

struct NumberedLine {
  std::string_view text;  // without its newline; until the next line is read
  std::uint64_t number = 0;
  bool complete = true;  // false: the file ends before its newline
  bool overlong = false;
};

class NumberedLines {
 public:
  NumberedLines(int file, std::size_t longest) : file_(file), longest_(longest) {}

  // False at the end. Behind an overlong line nothing is read.
  Result<bool> next(NumberedLine& line);
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  void take(NumberedLine& line, std::size_t length, bool complete);
  Result<bool> fill();

  int file_;
  std::size_t longest_;
  std::string buffer_;
  std::size_t begin_ = 0;
  std::size_t searched_ = 0;  // behind `begin_`, without a newline
  std::uint64_t number_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace cordon
