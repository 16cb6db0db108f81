#include "run/capture.h"

#include <algorithm>

namespace cordon {

Capture::Capture(std::uint64_t limit) : head_limit_(limit - limit / 2), tail_limit_(limit / 2) {}

void Capture::add(std::string_view bytes) {
  bytes_ += bytes.size();
  const std::size_t to_head = std::min(bytes.size(), head_limit_ - head_.size());
  head_.append(bytes.substr(0, to_head));
  bytes.remove_prefix(to_head);
  if (bytes.empty() || tail_limit_ == 0) return;
  if (bytes.size() > tail_limit_) bytes.remove_prefix(bytes.size() - tail_limit_);
  const std::size_t growing = std::min(bytes.size(), tail_limit_ - ring_.size());
  ring_.append(bytes.substr(0, growing));
  bytes.remove_prefix(growing);
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), tail_limit_ - oldest_);
    ring_.replace(oldest_, part, bytes.substr(0, part));
    oldest_ = (oldest_ + part) % tail_limit_;
    bytes.remove_prefix(part);
  }
}

Stream Capture::take() {
  Stream stream;
  stream.head = std::move(head_);
  stream.tail = ring_.substr(oldest_) + ring_.substr(0, oldest_);
  stream.bytes = bytes_;
  return stream;
}

}  // namespace cordon
