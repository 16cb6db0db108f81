// LineSplitter: the bytes of a pipe cut into lines, in bounded memory.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace cordon {

struct Line {
  enum class Kind {
    TooLong,  // its bytes were not kept
    Whole,
  };
  Kind kind = Kind::TooLong;
  std::string text;  // without its end, which may be LF or CRLF
};

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest) : longest_(longest) {}

  // Hands every line that these bytes complete to `take`, in order. Blank lines are left out, and a
  // byte-order mark before the first line.
  void add(std::string_view bytes, const std::function<void(const Line&)>& take);
  // The bytes have come to their end: what is left of a line that was not ended.
  void finish(const std::function<void(const Line&)>& take);
  // How much of the line that has not ended yet was thrown away: a peer that never ends a line can
  // be told from one that sends a long one.
  [[nodiscard]] std::size_t discarded() const { return discarded_; }

 private:
  void end_line(const std::function<void(const Line&)>& take);

  std::size_t longest_;
  std::size_t discarded_ = 0;
  std::string partial_;
  bool first_ = true;
};

}  // namespace cordon
