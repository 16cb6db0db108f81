// Records as text whose fields end in NUL: a path has any byte but that one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace cordon {

inline void add_field(std::string& text, std::string_view field) {
  text.append(field);
  text.push_back('\0');
}
inline void add_field(std::string& text, std::uint64_t number) {
  add_field(text, std::string_view(std::to_string(number)));
}

// Reads one field after the other; after the first one that is missing or malformed nothing is
// believed.
class FieldReader {
 public:
  // `text` outlives the reader.
  explicit FieldReader(std::string_view text) : text_(text) {}
  std::string text() {
    const std::size_t end = text_.find('\0');
    if (end == std::string_view::npos) {
      good_ = false;
      text_ = {};
      return {};
    }
    std::string field(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return field;
  }
  // Exactly that many bytes, whatever they are.
  std::string bytes(std::uint64_t size) {
    if (size > text_.size()) {
      good_ = false;
      return {};
    }
    std::string field(text_.substr(0, size));
    text_.remove_prefix(size);
    return field;
  }
  std::uint64_t number() {
    const auto value = parse_number(text());
    if (!value) good_ = false;
    return value.value_or(0);
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return text_.empty(); }

 private:
  std::string_view text_;
  bool good_ = true;
};

}  // namespace cordon
