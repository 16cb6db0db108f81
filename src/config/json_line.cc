// Reads JSON that Cordon itself wrote, one value on a line. A log of years is millions of them, and
// the reader for documents spends most of its time on places and messages that nobody asks for
// here.
#if defined(__SSE2__)
#define RAPIDJSON_SSE2
#elif defined(__ARM_NEON)
#define RAPIDJSON_NEON
#endif
#include <rapidjson/reader.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <vector>

#include "config/node.h"

namespace cordon {
namespace {

// Takes the events of the parser; an answer of false ends it.
class LineBuilder {
 public:
  // `escaped`: the text names characters by their numbers.
  explicit LineBuilder(bool escaped) : escaped_(escaped) { frames_.reserve(kUsualDepth); }
  Node take() && { return std::move(root_); }

  bool Null() { return add(Node(nullptr)); }
  bool Bool(bool value) { return add(Node(value)); }
  // Never called: numbers come as they are written.
  bool Int(int /*value*/) { return false; }
  bool Uint(unsigned /*value*/) { return false; }
  bool Int64(std::int64_t /*value*/) { return false; }
  bool Uint64(std::uint64_t /*value*/) { return false; }
  bool Double(double /*value*/) { return false; }
  bool RawNumber(const char* text, rapidjson::SizeType length, bool /*copy*/) {
    const std::string_view number(text, length);
    if (number.find_first_of(".eE") != std::string_view::npos) return add_number<double>(number);
    return add_number<std::int64_t>(number);
  }
  bool String(const char* text, rapidjson::SizeType length, bool /*copy*/) {
    return is_text({text, length}) && add(Node(std::string(text, length)));
  }
  bool StartObject() {
    // A record, and what it says of its action, are larger than what lies below.
    constexpr std::size_t kOfARecord = 24;
    NodeMap members;
    members.reserve(frames_.size() < 2 ? kOfARecord : 2);
    return open(Node(std::move(members)));
  }
  bool Key(const char* text, rapidjson::SizeType length, bool /*copy*/) {
    Frame& frame = frames_.back();
    frame.key.assign(text, length);
    return is_text(frame.key) && frame.node.find(frame.key) == nullptr;
  }
  bool EndObject(rapidjson::SizeType /*members*/) { return close(); }
  bool StartArray() { return open(Node(NodeList{})); }
  bool EndArray(rapidjson::SizeType /*elements*/) { return close(); }

 private:
  // The parser takes the second half of a pair of UTF-16 alone for a character.
  [[nodiscard]] bool is_text(std::string_view text) const {
    constexpr char kFirst = '\xed';
    constexpr char kSecond = '\xa0';
    for (std::size_t at = 0; escaped_ && (at = text.find(kFirst, at)) != std::string_view::npos;) {
      if (++at < text.size() && text[at] >= kSecond) return false;
    }
    return true;
  }
  struct Frame {
    Node node;
    std::string key;
  };

  template <typename Number>
  bool add_number(std::string_view text) {
    Number value{};
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    return fault == std::errc() && end == text.data() + text.size() && add(Node(value));
  }
  bool add(Node node) {
    if (frames_.empty()) {
      root_ = std::move(node);
      return true;
    }
    Frame& frame = frames_.back();
    if (auto* list = std::get_if<NodeList>(&frame.node.value)) {
      list->push_back(std::move(node));
    } else {
      std::get<NodeMap>(frame.node.value).emplace_back(std::move(frame.key), std::move(node));
    }
    return true;
  }
  bool open(Node container) {
    if (frames_.size() == kMaxDocumentDepth) return false;
    frames_.push_back({std::move(container), {}});
    return true;
  }
  bool close() {
    Node node = std::move(frames_.back().node);
    frames_.pop_back();
    return add(std::move(node));
  }

  static constexpr std::size_t kUsualDepth = 4;
  const bool escaped_;
  std::vector<Frame> frames_;
  Node root_;
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

constexpr unsigned kLineFlags = rapidjson::kParseIterativeFlag |
                                rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseInsituFlag;

template <unsigned kFlags>
std::optional<Node> parse_in_place(std::string& text) {
  LineBuilder builder(text.find("\\u") != std::string::npos);
  rapidjson::InsituStringStream stream(text.data());
  rapidjson::Reader reader;
  if (reader.Parse<kFlags>(stream, builder).IsError()) return std::nullopt;
  return std::move(builder).take();
}

}  // namespace

std::optional<Node> read_json_line(std::string_view text) {
  if (text.size() > kMaxDocumentBytes || text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  // A copy that the parser may write into: no text has to be put together beside it. It looks at so
  // many bytes at a time, from the last one on past the end.
  constexpr std::size_t kAtATime = 16;
  std::string copy;
  copy.reserve(text.size() + kAtATime);
  copy.append(text).append(kAtATime, '\0');
  // Most lines are ASCII, of which every sequence is UTF-8.
  return is_ascii(text) ? parse_in_place<kLineFlags>(copy)
                        : parse_in_place<kLineFlags | rapidjson::kParseValidateEncodingFlag>(copy);
}

}  // namespace cordon
