// Reads JSON that Cordon itself wrote, one value on a line. A log of years is millions of them, and
// the reader for documents spends most of its time on places and messages that nobody asks for
// here.
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <charconv>
#include <vector>

#include "config/node.h"

namespace cordon {
namespace {

// Takes the events of the parser; an answer of false ends it.
class LineBuilder {
 public:
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
    return add(Node(std::string(text, length)));
  }
  bool StartObject() {
    constexpr std::size_t kOfARecord = 20;
    NodeMap members;
    if (frames_.empty()) members.reserve(kOfARecord);
    return open(Node(std::move(members)));
  }
  bool Key(const char* text, rapidjson::SizeType length, bool /*copy*/) {
    Frame& frame = frames_.back();
    frame.key.assign(text, length);
    return frame.node.find(frame.key) == nullptr;
  }
  bool EndObject(rapidjson::SizeType /*members*/) { return close(); }
  bool StartArray() { return open(Node(NodeList{})); }
  bool EndArray(rapidjson::SizeType /*elements*/) { return close(); }

 private:
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

  std::vector<Frame> frames_;
  Node root_;
};

}  // namespace

std::optional<Node> read_json_line(std::string_view text) {
  if (text.size() > kMaxDocumentBytes || text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag |
                              rapidjson::kParseValidateEncodingFlag |
                              rapidjson::kParseNumbersAsStringsFlag;
  rapidjson::MemoryStream stream(text.data(), text.size());
  rapidjson::Reader reader;
  LineBuilder builder;
  if (reader.Parse<kFlags>(stream, builder).IsError()) return std::nullopt;
  return std::move(builder).take();
}

}  // namespace cordon
