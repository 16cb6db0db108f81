#include "base/text.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/terminal_text.h"

namespace cordon {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Unit {
  std::string_view suffix;
  std::uint64_t factor;
};
constexpr std::array<Unit, 4> kSizes{
    {{"T", 1ULL << 40U}, {"G", 1ULL << 30U}, {"M", 1ULL << 20U}, {"K", 1ULL << 10U}}};
constexpr std::array<Unit, 4> kDurations{
    {{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}}};

void append_hex_bytes(std::string& out, std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out.append("\\x").append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 0xFU]);
  }
}

void append_code_point(std::string& out, char32_t c) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out.append("\\u{");
  unsigned shift = 20;
  while (shift > 0 && (c >> shift) == 0) shift -= 4;
  for (;; shift -= 4) {
    out.push_back(kDigits[(c >> shift) & 0xFU]);
    if (shift == 0) break;
  }
  out.push_back('}');
}

enum class Layout { OneLine, Lines };

std::string escape(std::string_view text, Layout layout) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    const std::string_view bytes = text.substr(0, step.length);
    text.remove_prefix(step.length);
    const bool kept_blank = layout == Layout::Lines && (bytes == "\n" || bytes == "\t");
    if (!step.code_point || (is_control_character(*step.code_point) && !kept_blank)) {
      append_hex_bytes(out, bytes);
    } else if (is_misleading_character(*step.code_point)) {
      append_code_point(out, *step.code_point);
    } else {
      out.append(bytes);
    }
  }
  return out;
}

bool needs_no_quotes(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
}

std::optional<std::uint64_t> parse_quantity(std::string_view text, std::span<const Unit> units) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_number(text.substr(0, digits));
  if (!number || *number == 0) return std::nullopt;
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& candidate) {
    return candidate.suffix == text.substr(digits);
  });
  if (unit == units.end()) return std::nullopt;
  if (*number > std::numeric_limits<std::uint64_t>::max() / unit->factor) return std::nullopt;
  return *number * unit->factor;
}

std::string format_quantity(std::uint64_t value, std::span<const Unit> units,
                            std::string_view base) {
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) {
      return std::to_string(value / unit.factor).append(unit.suffix);
    }
  }
  return std::to_string(value).append(base);
}

}  // namespace

std::string sanitize(std::string_view text) { return escape(text, Layout::OneLine); }

std::string sanitize_lines(std::string_view text) { return escape(text, Layout::Lines); }

std::string quote(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), needs_no_quotes))
    return std::string(text);
  const bool needs_escapes = sanitize(text) != text;
  std::string out(needs_escapes ? "$'" : "'");
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    const std::string_view bytes = text.substr(0, step.length);
    text.remove_prefix(step.length);
    if (!step.code_point || is_control_character(*step.code_point) ||
        is_misleading_character(*step.code_point)) {
      append_hex_bytes(out, bytes);
    } else if (needs_escapes && (bytes == "'" || bytes == "\\")) {
      out.append("\\").append(bytes);
    } else if (bytes == "'") {
      out.append("'\\''");
    } else {
      out.append(bytes);
    }
  }
  return out.append("'");
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

std::optional<std::string> nearest(std::string_view word,
                                   std::span<const std::string_view> candidates) {
  std::size_t best = std::max<std::size_t>(1, word.size() / 3);
  std::optional<std::string> found;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best || (distance == best && !found)) {
      best = distance;
      found = std::string(candidate);
    }
  }
  return found;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  return parse_quantity(text, kSizes);
}

std::optional<std::uint64_t> parse_duration(std::string_view text) {
  return parse_quantity(text, kDurations);
}

std::string format_size(std::uint64_t bytes) { return format_quantity(bytes, kSizes, "B"); }

std::string format_duration(std::uint64_t milliseconds) {
  return format_quantity(milliseconds, kDurations, "ms");
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower_case(c);
  return result;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const std::size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = utf8_step(text);
    if (!step.code_point) return false;
    text.remove_prefix(step.length);
  }
  return true;
}

std::string to_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  while (!bytes.empty()) {
    const Utf8Step step = utf8_step(bytes);
    out.append(step.code_point ? bytes.substr(0, step.length) : kReplacement);
    bytes.remove_prefix(step.length);
  }
  return out;
}

namespace {

struct Lead {
  std::size_t length;
  char32_t bits;
  unsigned char second_min;
  unsigned char second_max;
};

// The bounds on the second byte exclude overlong forms, surrogates and what is past U+10FFFF.
std::optional<Lead> lead_of(unsigned char byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return Lead{2, byte & 0x1FU, 0x80, 0xBF};
  if (byte == 0xE0) return Lead{3, 0, 0xA0, 0xBF};
  if (byte == 0xED) return Lead{3, 0x0D, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return Lead{3, byte & 0x0FU, 0x80, 0xBF};
  if (byte == 0xF0) return Lead{4, 0, 0x90, 0xBF};
  if (byte == 0xF4) return Lead{4, 4, 0x80, 0x8F};
  if (byte >= 0xF1 && byte <= 0xF3) return Lead{4, byte & 0x07U, 0x80, 0xBF};
  return std::nullopt;
}

}  // namespace

Utf8Step utf8_step(std::string_view text) {
  const auto byte_at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte_at(0) < 0x80) return {byte_at(0), 1, false};
  const auto lead = lead_of(byte_at(0));
  if (!lead) return {std::nullopt, 1, false};
  char32_t value = lead->bits;
  for (std::size_t i = 1; i < lead->length; ++i) {
    if (i == text.size()) return {std::nullopt, i, true};
    const unsigned char low = i == 1 ? lead->second_min : 0x80;
    const unsigned char high = i == 1 ? lead->second_max : 0xBF;
    if (byte_at(i) < low || byte_at(i) > high) return {std::nullopt, i, false};
    value = (value << 6U) | (byte_at(i) & 0x3FU);
  }
  return {value, lead->length, false};
}

namespace {

// Characters that no shell gives a meaning anywhere in a word. '=' and '~' are not among them: they
// have one at the beginning, and '%' and '^' have one in some shells.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:,@+").find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string word("'");
  for (const char c : text) {
    // Between single quotes nothing has a meaning but the single quote itself.
    if (c == '\'') {
      word.append("'\\''");
    } else {
      word.push_back(c);
    }
  }
  return word.append("'");
}

std::string shell_line(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line.push_back(' ');
    line.append(shell_word(word));
  }
  return line;
}

void LineSplitter::add(std::string_view bytes, const std::function<void(const Line&)>& take) {
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    const std::string_view part = bytes.substr(0, newline);
    if (discarded_ != 0 || part.size() > longest_ - partial_.size()) {
      discarded_ += partial_.size() + part.size();
      partial_.clear();
    } else {
      partial_.append(part);
    }
    if (newline == std::string_view::npos) return;
    end_line(take);
    bytes.remove_prefix(newline + 1);
  }
}

void LineSplitter::finish(const std::function<void(const Line&)>& take) {
  if (discarded_ != 0 || !partial_.empty()) end_line(take);
}

void LineSplitter::end_line(const std::function<void(const Line&)>& take) {
  Line line;
  if (discarded_ == 0) {
    line.kind = Line::Kind::Whole;
    line.text.swap(partial_);
    if (first_ && line.text.starts_with("\xEF\xBB\xBF")) line.text.erase(0, 3);
    if (line.text.ends_with('\r')) line.text.pop_back();
  }
  first_ = false;
  discarded_ = 0;
  const bool blank =
      line.kind == Line::Kind::Whole && line.text.find_first_not_of(" \t\r") == std::string::npos;
  if (!blank) take(line);
}

}  // namespace cordon
