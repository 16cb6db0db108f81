#include "faces/fleet/numbered_lines.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace cordon {

Result<bool> NumberedLines::next(NumberedLine& line) {
  for (;;) {
    const std::size_t end = std::string_view(buffer_).find('\n', begin_ + searched_);
    if (end != std::string::npos) {
      take(line, end - begin_, true);
      begin_ = end + 1;
      return true;
    }
    searched_ = buffer_.size() - begin_;
    if (searched_ > longest_) {
      // Nothing more of it is kept: it is told, and nothing behind it is read.
      take(line, 0, true);
      line.overlong = true;
      return true;
    }
    CORDON_TRY(more, fill());
    if (more) continue;
    if (begin_ == buffer_.size()) return false;
    take(line, buffer_.size() - begin_, false);
    begin_ = buffer_.size();
    return true;
  }
}

void NumberedLines::take(NumberedLine& line, std::size_t length, bool complete) {
  line = {std::string_view(buffer_).substr(begin_, length), ++number_, complete, length > longest_};
  searched_ = 0;
}

Result<bool> NumberedLines::fill() {
  constexpr std::size_t kAtOnce = std::size_t{256} << 10U;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t before = buffer_.size();
  buffer_.resize(before + kAtOnce);
  ssize_t got = -1;
  do {
    got = ::read(file_, buffer_.data() + before, kAtOnce);
  } while (got < 0 && errno == EINTR);
  const int number = errno;
  buffer_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  if (got < 0) return fail(setup_error("cannot read", number));
  bytes_ += static_cast<std::uint64_t>(got);
  return got > 0;
}

}  // namespace cordon
