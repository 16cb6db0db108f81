// One strict step through UTF-8: overlong forms, surrogates and numbers past U+10FFFF are invalid,
// as they are for terminals and JSON readers.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace cordon {

struct Utf8Step {
  std::optional<char32_t> code_point;  // absent: `length` bytes are not UTF-8
  std::size_t length = 1;              // at least 1
  bool cut_short = false;              // the text ended inside a sequence that was valid so far
};

// `text` is not empty.
Utf8Step utf8_step(std::string_view text);

}  // namespace cordon
