// Control functions as ECMA-48 writes them, in the seven-bit form (ESC and a byte) and the
// eight-bit one, which is a single character in UTF-8:
//
//   ESC [ , U+009B             a control sequence: parameters, intermediates, one final byte
//   ESC ] P X ^ _ , U+009D...  a string that goes on to ESC \ , U+009C or, for titles, BEL
//   ESC and intermediates      one final byte
#include "base/terminal_text.h"

#include "base/text.h"

namespace cordon {
namespace {

constexpr char32_t kEscape = 0x1B;
constexpr char32_t kBell = 0x07;
constexpr char32_t kStringEnd = 0x9C;

bool is_between(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

// The form with ESC of a control of the upper range: both mean the same.
char32_t seven_bit(char32_t c) { return c - 0x40; }

bool begins_string(char32_t c) { return c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_'; }

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  std::string read() {
    std::string shown;
    while (!rest_.empty()) {
      const Utf8Step step = utf8_step(rest_);
      const std::string_view bytes = rest_.substr(0, step.length);
      rest_.remove_prefix(step.length);
      if (!step.code_point) {
        shown.append(to_utf8(bytes));
      } else if (*step.code_point == kEscape) {
        skip_escape();
      } else if (is_between(*step.code_point, 0x80, 0x9F)) {
        skip_function(seven_bit(*step.code_point));
      } else if (is_shown(*step.code_point)) {
        shown.append(bytes);
      }
    }
    return shown;
  }

 private:
  static bool is_shown(char32_t c) {
    if (c == '\n' || c == '\r' || c == '\t') return true;
    return !is_control_character(c) && !is_misleading_character(c);
  }

  // All of this is ASCII; a byte of another character ends what is skipped.
  [[nodiscard]] char32_t next() const {
    return rest_.empty() ? 0 : static_cast<unsigned char>(rest_.front());
  }

  void skip_while(char32_t first, char32_t last) {
    while (!rest_.empty() && is_between(next(), first, last)) rest_.remove_prefix(1);
  }

  void skip_final(char32_t first, char32_t last) {
    if (!rest_.empty() && is_between(next(), first, last)) rest_.remove_prefix(1);
  }

  void skip_escape() {
    const char32_t kind = next();
    if (kind == '[' || begins_string(kind)) {
      rest_.remove_prefix(1);
      skip_function(kind);
      return;
    }
    skip_while(0x20, 0x2F);
    skip_final(0x30, 0x7E);
  }

  void skip_function(char32_t kind) {
    if (begins_string(kind)) return skip_string();
    if (kind != '[') return;
    skip_while(0x30, 0x3F);
    skip_while(0x20, 0x2F);
    skip_final(0x40, 0x7E);
  }

  void skip_string() {
    while (!rest_.empty()) {
      const Utf8Step step = utf8_step(rest_);
      const char32_t c = step.code_point.value_or(0);
      if (c == '\n' || c == '\r') return;
      rest_.remove_prefix(step.length);
      if (c == kBell || c == kStringEnd) return;
      if (c == kEscape) return skip_escape();
    }
  }

  std::string_view rest_;
};

}  // namespace

std::string without_terminal_sequences(std::string_view text) { return Reader(text).read(); }

bool is_control_character(char32_t c) { return c < 0x20 || (c >= 0x7F && c <= 0x9F); }

bool is_misleading_character(char32_t c) {
  return c == 0x061C || c == 0x180E || c == 0x200B || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF ||
         (c >= 0xFFF9 && c <= 0xFFFB) || (c >= 0xE0000 && c <= 0xE007F);
}

}  // namespace cordon
