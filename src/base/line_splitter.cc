#include "base/line_splitter.h"

namespace cordon {

void LineSplitter::add(std::string_view bytes, const std::function<void(const Line&)>& take) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view part = bytes.substr(0, newline);
    if (discarded_ != 0 || part.size() > longest_ - partial_.size()) {
      discarded_ += partial_.size() + part.size();
      partial_.clear();
    } else {
      partial_.append(part);
    }
    if (newline == std::string_view::npos) return;
    end_line(take);
    bytes.remove_prefix(newline + 1);
  }
}

void LineSplitter::finish(const std::function<void(const Line&)>& take) {
  if (discarded_ != 0 || !partial_.empty()) end_line(take);
}

void LineSplitter::end_line(const std::function<void(const Line&)>& take) {
  Line line;
  if (discarded_ == 0) {
    line.kind = Line::Kind::Whole;
    line.text.swap(partial_);
    if (first_ && line.text.starts_with("\xEF\xBB\xBF")) line.text.erase(0, 3);
    if (line.text.ends_with('\r')) line.text.pop_back();
  }
  first_ = false;
  discarded_ = 0;
  const bool blank =
      line.kind == Line::Kind::Whole && line.text.find_first_not_of(" \t\r") == std::string::npos;
  if (!blank) take(line);
}

}  // namespace cordon
