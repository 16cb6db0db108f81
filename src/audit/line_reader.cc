#include "audit/line_reader.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "audit/record_line.h"

namespace cordon::audit {
namespace {
constexpr std::size_t kPiece = std::size_t{256} * 1024;
}  // namespace

Result<void> LineReader::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const std::size_t held = buffer_.size();
  const std::size_t wanted =
      static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, until_ - read_to_));
  buffer_.resize(held + wanted);
  std::size_t done = 0;
  while (done < wanted) {
    const ssize_t got = ::pread(file_, buffer_.data() + held + done, wanted - done,
                                static_cast<off_t>(read_to_ + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(audit_error("cannot read the audit log", errno));
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  buffer_.resize(held + done);
  read_to_ += done;
  if (done < wanted) until_ = read_to_;  // shorter than was said
  return {};
}

Result<bool> LineReader::next(Line& line) {
  line = Line{};
  line.offset = at_;
  std::size_t searched = 0;
  for (;;) {
    const std::string_view held = std::string_view(buffer_).substr(begin_);
    const std::size_t newline = held.find('\n', searched);
    const bool found = newline != std::string_view::npos;
    const bool at_end = read_to_ == until_;
    if (!found && !at_end && held.size() <= kLongestLine) {
      searched = held.size();
      CORDON_CHECK(fill());
      continue;
    }
    if (!found && at_end && held.empty() && !line.overlong) return false;
    if (!found && !at_end) {
      // Skip to the newline without keeping what lies between.
      line.overlong = true;
      line.length += held.size();
      begin_ = buffer_.size();
      searched = 0;
      CORDON_CHECK(fill());
      continue;
    }
    const std::size_t taken = found ? newline : held.size();
    line.length += taken;
    line.complete = found;
    line.overlong = line.overlong || line.length >= kLongestLine;
    if (!line.overlong) line.text = held.substr(0, taken);
    begin_ += taken + (found ? 1 : 0);
    at_ = line.end();
    line.number = ++number_;
    return true;
  }
}

}  // namespace cordon::audit
