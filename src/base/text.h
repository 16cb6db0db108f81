// Small text helpers: sanitizing for terminals, nearest-word suggestions, sizes and durations.
#pragma once

#include <cstdint>
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

}  // namespace cordon
