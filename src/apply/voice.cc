#include "apply/voice.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstddef>

#include "base/write_whole.h"

namespace cordon::apply {
namespace {

constexpr std::size_t kMostText = 1500;

class Line {
 public:
  Line& add(std::string_view text) {
    for (const char c : text) put(c);
    return *this;
  }
  // Inside a JSON string; control characters are not there.
  Line& add_quoted(std::string_view text) {
    for (const char c : text) {
      if (c == '"' || c == '\\') put('\\');
      put(c);
    }
    return *this;
  }
  Line& add(int number) {
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return add(std::string_view(digits.data(), static_cast<std::size_t>(end - digits.data())));
  }
  void write_to(int descriptor) const { (void)write_whole(descriptor, {text_.data(), used_}); }

 private:
  void put(char c) {
    if (used_ < text_.size()) text_[used_++] = c;
  }

  std::array<char, 2 * kMostText + 256> text_{};
  std::size_t used_ = 0;
};

// Cuts between two characters.
std::string_view shortened(std::string_view text) {
  if (text.size() <= kMostText) return text;
  std::size_t end = kMostText;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end);
}

}  // namespace

int Voice::refuse(Status status, std::string_view text) const {
  const int number = static_cast<int>(status);
  const std::string_view told = shortened(text);
  Line().add(name).add(": error: ").add(told).add("\n").write_to(STDERR_FILENO);
  if (status_fd >= 0) {
    Line()
        .add(R"({"schema":"cordon.apply/1","status":)")
        .add(number)
        .add(R"(,"error":")")
        .add_quoted(told)
        .add("\"}\n")
        .write_to(status_fd);
  }
  return number;
}

void Voice::warn(std::string_view text) const {
  Line().add(name).add(": warning: ").add(shortened(text)).add("\n").write_to(STDERR_FILENO);
}

}  // namespace cordon::apply
