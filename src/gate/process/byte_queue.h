// ByteQueue: bytes on their way from one socket to another.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cordon::gate {

class ByteQueue {
 public:
  [[nodiscard]] std::string_view view() const { return std::string_view(bytes_).substr(begin_); }
  [[nodiscard]] std::size_t size() const { return bytes_.size() - begin_; }
  [[nodiscard]] bool empty() const { return size() == 0; }

  void append(std::string_view bytes) { bytes_.append(bytes); }
  void consume(std::size_t count) {
    begin_ += count;
    if (begin_ == bytes_.size()) {
      bytes_.clear();
      begin_ = 0;
    } else if (begin_ >= bytes_.size() / 2) {
      bytes_.erase(0, begin_);
      begin_ = 0;
    }
  }
  // Gives its memory back: a connection that waits for its next request holds none.
  void release() {
    std::string().swap(bytes_);
    begin_ = 0;
  }

 private:
  std::string bytes_;
  std::size_t begin_ = 0;
};

}  // namespace cordon::gate
