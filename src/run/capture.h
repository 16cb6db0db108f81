// Capture: the first and the last bytes of a stream, in bounded memory, however much is written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cordon/outcome.h"

namespace cordon {

class Capture {
 public:
  // Keeps at most `limit` bytes: half from the beginning, half from the end.
  explicit Capture(std::uint64_t limit);
  void add(std::string_view bytes);
  [[nodiscard]] Stream take();

 private:
  std::size_t head_limit_;
  std::size_t tail_limit_;
  std::string head_;
  std::string ring_;        // the last bytes, in a circle once it is full
  std::size_t oldest_ = 0;  // where the circle begins
  std::uint64_t bytes_ = 0;
};

}  // namespace cordon
