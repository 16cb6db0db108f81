// Small text helpers: sanitizing for terminals, nearest-word suggestions, sizes and durations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cordon {

// Escapes C0, DEL, C1 and invalid UTF-8 as \xNN, and bidirectional controls as \u{...}, so that a
// string from a sandbox cannot move the cursor, set the clipboard or reorder what is read.
// Invisible characters (zero-width space, tags, line separators, byte-order mark) are shown as
// \u{...} too.
std::string sanitize(std::string_view text);
// sanitize, but keeps newline and tab.
std::string sanitize_lines(std::string_view text);
// A shell-like rendering for messages: quoted if it holds anything but plain characters.
std::string quote(std::string_view text);

// Insertions, deletions, substitutions and swaps of neighbours that turn one into the other.
std::size_t edit_distance(std::string_view a, std::string_view b);
// The candidate within an edit distance of max(1, length/3), nearest first; nothing if none is.
std::optional<std::string> nearest(std::string_view word,
                                   std::span<const std::string_view> candidates);

// "10K", "1G": 1024-based K, M, G, T. Bare numbers, zero and overflow are refused.
std::optional<std::uint64_t> parse_size(std::string_view text);
// "250ms", "30s", "5m", "2h". Bare numbers, zero and overflow are refused. In milliseconds.
std::optional<std::uint64_t> parse_duration(std::string_view text);
// The largest unit that divides evenly; a size that is no multiple of 1024 is shown as "1025B".
std::string format_size(std::uint64_t bytes);
std::string format_duration(std::uint64_t milliseconds);

// ASCII letters only: the spelling of host names, keys and protected names, whatever the locale.
constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
std::string lower_case(std::string_view text);

// Decimal digits only, no sign, no blanks, no overflow.
std::optional<std::uint64_t> parse_number(std::string_view text);

// The parts point into `text`, so a string that ends with the expression is refused.
std::vector<std::string_view> split(std::string_view text, char separator);
std::vector<std::string_view> split(std::string&& text, char separator) = delete;
bool is_valid_utf8(std::string_view text);
// Replaces what is not UTF-8 by U+FFFD.
std::string to_utf8(std::string_view bytes);

// One strict step through UTF-8: overlong forms, surrogates and numbers past U+10FFFF are invalid,
// as they are for terminals and JSON readers.

struct Utf8Step {
  std::optional<char32_t> code_point;  // absent: `length` bytes are not UTF-8
  std::size_t length = 1;              // at least 1
  bool cut_short = false;              // the text ended inside a sequence that was valid so far
};

// `text` is not empty.
Utf8Step utf8_step(std::string_view text);

// Words for a shell that come out again as exactly the bytes that went in. Unlike quote(), which is
// for people to read and shows control characters as escapes.

// One word, in the quoting that sh, bash, zsh and dash read alike. `text` holds no NUL byte.
std::string shell_word(std::string_view text);
// The words with blanks between.
std::string shell_line(std::span<const std::string> words);

// LineSplitter: the bytes of a pipe cut into lines, in bounded memory.

struct Line {
  enum class Kind {
    TooLong,  // its bytes were not kept
    Whole,
  };
  Kind kind = Kind::TooLong;
  std::string text;  // without its end, which may be LF or CRLF
};

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest) : longest_(longest) {}

  // Hands every line that these bytes complete to `take`, in order. Blank lines are left out, and a
  // byte-order mark before the first line.
  void add(std::string_view bytes, const std::function<void(const Line&)>& take);
  // The bytes have come to their end: what is left of a line that was not ended.
  void finish(const std::function<void(const Line&)>& take);
  // How much of the line that has not ended yet was thrown away: a peer that never ends a line can
  // be told from one that sends a long one.
  [[nodiscard]] std::size_t discarded() const { return discarded_; }

 private:
  void end_line(const std::function<void(const Line&)>& take);

  std::size_t longest_;
  std::size_t discarded_ = 0;
  std::string partial_;
  bool first_ = true;
};

}  // namespace cordon
