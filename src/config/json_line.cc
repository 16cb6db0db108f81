// Reads JSON that Cordon itself wrote, one value on a line: the reader for documents spends most of
// its time on places and messages that nobody asks for here.
#if defined(__SSE2__)
#define RAPIDJSON_SSE2
#elif defined(__ARM_NEON)
#define RAPIDJSON_NEON
#endif
#include "config/json_line.h"

#include <rapidjson/reader.h>

#include <array>
#include <charconv>
#include <cstring>

#include "config/node.h"

namespace cordon {
namespace {

// Takes the events of the parser; an answer of false ends it.
class LineBuilder {
 public:
  // `escaped`: the text names characters by their numbers.
  LineBuilder(std::vector<LineValue>& values, bool escaped) : values_(values), escaped_(escaped) {}

  bool Null() { return add(LineValue::Kind::Null); }
  bool Bool(bool value) {
    add(LineValue::Kind::Bool);
    values_.back().truth = value;
    return true;
  }
  // Never called: numbers come as they are written.
  bool Int(int /*value*/) { return false; }
  bool Uint(unsigned /*value*/) { return false; }
  bool Int64(std::int64_t /*value*/) { return false; }
  bool Uint64(std::uint64_t /*value*/) { return false; }
  bool Double(double /*value*/) { return false; }
  bool RawNumber(const char* text, rapidjson::SizeType length, bool /*copy*/) {
    const std::string_view number(text, length);
    if (number.find_first_of(".eE") != std::string_view::npos) {
      double value = 0;
      add(LineValue::Kind::Real);
      values_.back().text = number;
      return is_number(number, value);
    }
    add(LineValue::Kind::Integer);
    return is_number(number, values_.back().number);
  }
  bool String(const char* text, rapidjson::SizeType length, bool /*copy*/) {
    add(LineValue::Kind::Text);
    values_.back().text = {text, length};
    return is_text(values_.back().text);
  }
  bool StartObject() { return open(LineValue::Kind::Map); }
  bool Key(const char* text, rapidjson::SizeType length, bool /*copy*/) {
    key_ = {text, length};
    return is_text(key_) && is_new(key_);
  }
  bool EndObject(rapidjson::SizeType /*members*/) { return close(); }
  bool StartArray() { return open(LineValue::Kind::List); }
  bool EndArray(rapidjson::SizeType /*elements*/) { return close(); }

 private:
  // A list or map whose end was not met.
  struct Open {
    std::size_t at = 0;         // its place in the list
    std::uint64_t letters = 0;  // which keys it may have: a bit for each, shared by several
  };

  // The parser takes the second half of a pair of UTF-16 alone for a character.
  [[nodiscard]] bool is_text(std::string_view text) const {
    constexpr char kFirst = '\xed';
    constexpr char kSecond = '\xa0';
    for (std::size_t at = 0; escaped_ && (at = text.find(kFirst, at)) != std::string_view::npos;) {
      if (++at < text.size() && text[at] >= kSecond) return false;
    }
    return true;
  }
  // Nearly always told by one bit, without comparing the key with each one before it.
  bool is_new(std::string_view key) {
    Open& map = open_[depth_ - 1];
    constexpr std::size_t kBits = 64;
    const std::size_t last = key.empty() ? 0 : static_cast<unsigned char>(key.back());
    const std::size_t first = key.empty() ? 0 : static_cast<unsigned char>(key.front());
    const std::uint64_t bit = std::uint64_t{1} << ((first + 7 * last + 13 * key.size()) % kBits);
    const bool may_be_there = (map.letters & bit) != 0;
    map.letters |= bit;
    if (!may_be_there) return true;
    // Not `find`: the map is still open, and its span not known.
    for (std::size_t at = map.at + 1; at < values_.size(); at += values_[at].span) {
      if (values_[at].key == key) return false;
    }
    return true;
  }
  template <typename Number>
  static bool is_number(std::string_view text, Number& value) {
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    return fault == std::errc() && end == text.data() + text.size();
  }
  bool add(LineValue::Kind kind) {
    LineValue& value = values_.emplace_back();
    value.kind = kind;
    const bool in_map = depth_ > 0 && values_[open_[depth_ - 1].at].kind == LineValue::Kind::Map;
    if (in_map) value.key = key_;
    return true;
  }
  bool open(LineValue::Kind kind) {
    if (depth_ == open_.size()) return false;
    add(kind);
    open_[depth_++] = {values_.size() - 1, 0};
    return true;
  }
  bool close() {
    const std::size_t at = open_[--depth_].at;
    values_[at].span = static_cast<std::uint32_t>(values_.size() - at);
    return true;
  }

  std::vector<LineValue>& values_;
  const bool escaped_;
  std::array<Open, kMaxDocumentDepth> open_;
  std::size_t depth_ = 0;
  std::string_view key_;
};

bool is_ascii(std::string_view text) {
  std::uint64_t seen = 0;
  std::uint64_t word = 0;
  for (; text.size() >= sizeof word; text.remove_prefix(sizeof word)) {
    std::memcpy(&word, text.data(), sizeof word);
    seen |= word;
  }
  for (const char c : text) seen |= static_cast<unsigned char>(c);
  return (seen & 0x8080808080808080U) == 0;
}

// The parser calls itself for what lies in a list or a map; the builder ends it at the bound of
// depth. Its other way keeps a stack in memory, and counts from a null pointer before it has one,
// which is undefined.
constexpr unsigned kLineFlags = rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseInsituFlag;

template <unsigned kFlags>
bool parse_in_place(char* text, LineBuilder& builder) {
  rapidjson::Reader reader;
  rapidjson::InsituStringStream stream(text);
  return !reader.Parse<kFlags>(stream, builder).IsError();
}

// What one long line needed is not kept for those behind it.
template <typename Item>
void clear(std::vector<Item>& items, std::size_t usual) {
  items.clear();
  if (items.capacity() > 4 * usual) items.shrink_to_fit();
  items.reserve(usual);
}

}  // namespace

bool JsonLine::read(std::string_view text) {
  if (text.size() > kMaxDocumentBytes || text.find('\0') != std::string_view::npos) return false;
  // A copy that the parser may write into: no text has to be put together beside it. It looks at so
  // many bytes at a time, from the last one on past the end.
  constexpr std::size_t kAtATime = 16;
  constexpr std::size_t kUsualBytes = 1536;
  constexpr std::size_t kUsualValues = 64;
  clear(bytes_, kUsualBytes);
  clear(values_, kUsualValues);
  bytes_.reserve(text.size() + kAtATime);
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  bytes_.insert(bytes_.end(), kAtATime, '\0');
  LineBuilder builder(values_, text.find("\\u") != std::string_view::npos);
  // Most lines are ASCII, of which every sequence is UTF-8.
  return is_ascii(text) ? parse_in_place<kLineFlags>(bytes_.data(), builder)
                        : parse_in_place<kLineFlags | rapidjson::kParseValidateEncodingFlag>(
                              bytes_.data(), builder);
}

}  // namespace cordon
