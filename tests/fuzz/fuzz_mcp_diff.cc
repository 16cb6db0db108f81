// Any two texts, parted by a zero byte: their difference is bounded, and empty only if they are
// equal.
#include <cstddef>
#include <cstdint>
#include <string>

#include "faces/mcp/inside/line_diff.h"
#include "require_that.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cordon;
  const std::string text(data, data + size);
  const std::size_t middle = text.find('\0');
  if (middle == std::string::npos) return 0;
  const std::string before = text.substr(0, middle);
  const std::string after = text.substr(middle + 1);
  constexpr std::size_t kMost = 2000;
  const std::string diff = mcp::line_diff(before, after, kMost);
  require_that(diff.empty() == (before == after));
  require_that(diff.size() <= kMost + 100);
  return 0;
}
