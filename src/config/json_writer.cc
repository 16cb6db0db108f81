#include <array>
#include <charconv>
#include <cmath>

#include "base/text.h"
#include "config/node.h"

namespace cordon {
namespace {

// U+0080 to U+009F, of which terminals take one for the beginning of a command.
bool begins_c1(std::string_view text) {
  constexpr unsigned char kLead = 0xC2;
  constexpr unsigned char kEnd = 0xA0;
  return text.size() > 1 && static_cast<unsigned char>(text[0]) == kLead &&
         static_cast<unsigned char>(text[1]) < kEnd;
}

// `text` is UTF-8. A document may end up on a terminal, so it holds no control character.
void append_escaped(std::string& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out.push_back('"');
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool c1 = begins_c1(text.substr(i));
    if (c1) ++i;
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.append(1, '\\').append(1, c);
    } else if (c == '\n') {
      out.append("\\n");
    } else if (c == '\t') {
      out.append("\\t");
    } else if (c == '\r') {
      out.append("\\r");
    } else if (c1 || byte < 0x20 || byte == 0x7F) {
      out.append("\\u00").append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 0xFU]);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

class JsonWriter {
 public:
  explicit JsonWriter(JsonStyle style) : style_(style) {}
  std::string take() && { return std::move(out_); }

  void write(const Node& node, unsigned depth) {
    std::visit([&](const auto& value) { put(value, depth); }, node.value);
  }

 private:
  void put(std::nullptr_t, unsigned) { out_.append("null"); }
  void put(bool value, unsigned) { out_.append(value ? "true" : "false"); }
  void put(std::int64_t value, unsigned) { out_.append(std::to_string(value)); }
  void put(const std::string& text, unsigned) { put_text(text); }

  // JSON has no NaN and no infinity; null is what readers expect in their place.
  void put(double value, unsigned) {
    if (!std::isfinite(value)) {
      out_.append("null");
      return;
    }
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    const std::string_view text(digits.data(), static_cast<std::size_t>(end - digits.data()));
    out_.append(text);
    if (text.find_first_of(".e") == std::string_view::npos) out_.append(".0");
  }

  void put(const NodeList& list, unsigned depth) {
    out_.push_back('[');
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i != 0) out_.push_back(',');
      break_line(depth + 1);
      write(list[i], depth + 1);
    }
    if (!list.empty()) break_line(depth);
    out_.push_back(']');
  }

  void put(const NodeMap& map, unsigned depth) {
    out_.push_back('{');
    for (std::size_t i = 0; i < map.size(); ++i) {
      if (i != 0) out_.push_back(',');
      break_line(depth + 1);
      put_text(map[i].first);
      out_.append(style_ == JsonStyle::Pretty ? ": " : ":");
      write(map[i].second, depth + 1);
    }
    if (!map.empty()) break_line(depth);
    out_.push_back('}');
  }

  void put_text(const std::string& text) {
    if (is_valid_utf8(text)) {
      append_escaped(out_, text);
    } else {
      append_escaped(out_, to_utf8(text));
    }
  }

  void break_line(unsigned depth) {
    if (style_ == JsonStyle::Compact) return;
    out_.push_back('\n');
    out_.append(std::size_t{depth} * 2, ' ');
  }

  JsonStyle style_;
  std::string out_;
};

}  // namespace

std::string write_json(const Node& node, JsonStyle style) {
  JsonWriter writer(style);
  writer.write(node, 0);
  return std::move(writer).take();
}

}  // namespace cordon
