// Lines do not depend on how the bytes were cut, and memory does not grow with what was sent.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/text.h"
#include "require_that.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kLongest = 64;

std::vector<std::string> split(std::string_view bytes, std::size_t step) {
  cordon::LineSplitter splitter(kLongest);
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    splitter.add(bytes.substr(0, step), [&](const cordon::Line& line) {
      cordon::require_that(line.text.size() <= kLongest);
      cordon::require_that(line.text.find('\n') == std::string::npos);
      lines.push_back(line.kind == cordon::Line::Kind::Whole ? line.text : "\n");
    });
    bytes.remove_prefix(std::min(step, bytes.size()));
  }
  return lines;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string text(data + 1, data + size);
  const std::size_t step = std::size_t{data[0]} + 1;
  cordon::require_that(split(text, step) == split(text, text.size() + 1));
  return 0;
}
