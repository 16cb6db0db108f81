// Reads JSON into Node. The parser's own tree would keep the last of two equal keys and turn large
// integers into doubles, so only its event interface is used.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/text.h"
#include "config/node.h"

namespace cordon {
namespace {

using Json = nlohmann::json;

constexpr const char* kDuplicateHint = "keep one of the two";

// Hands bytes to the lexer and tells how many it has taken: the events carry no position.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* taken) : at_(at), taken_(taken) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*taken_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  std::size_t* taken_;
};

// A container that is still open.
struct Frame {
  Node node;
  std::string key;  // the member being read
  Position key_position;
  std::unordered_set<std::string> seen;  // the keys, once there are many
};

// Whether an object has a member of that name; it has one from now on. Few keys are quicker to look
// through than to hash; many would take for ever.
bool is_there(Frame& frame, const std::string& name) {
  constexpr std::size_t kFew = 32;
  const NodeMap& members = std::get<NodeMap>(frame.node.value);
  if (members.size() < kFew) return frame.node.find(name) != nullptr;
  if (frame.seen.empty()) {
    for (const auto& [key, value] : members) frame.seen.insert(key);
  }
  return !frame.seen.insert(name).second;
}

std::size_t literal_length(std::string_view detail, std::string_view token) {
  if (detail.starts_with("unexpected true") || detail.starts_with("unexpected null")) return 4;
  if (detail.starts_with("unexpected false")) return 5;
  if (detail.starts_with("unexpected string") || detail.starts_with("unexpected number")) {
    return token.size();
  }
  return 1;
}

// The part of the parser's message that is about the text: without its code, its own position and
// the token, which may be the whole document.
std::string_view detail_of(std::string_view what) {
  const std::size_t dash = what.find(" - ");
  if (what.find("syntax error") < dash && dash != std::string_view::npos) {
    what.remove_prefix(dash + 3);
  } else if (const std::size_t code = what.find("] "); code != std::string_view::npos) {
    what.remove_prefix(code + 2);
  }
  return what.substr(0, std::min(what.find("; last read"), what.size()));
}

// What to write instead, by what the parser met at `start`.
std::string hint_for(std::string_view detail, std::string_view text, std::size_t start) {
  const std::string_view at = text.substr(std::min(start, text.size()));
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    return "the document is empty: an object is {\"version\": 1}";
  }
  const auto met = [&](std::string_view what) {
    return detail.starts_with("unexpected " + std::string(what));
  };
  const auto wanted = [&](std::string_view what) {
    return detail.ends_with("expected " + std::string(what));
  };
  if (at.starts_with("//") || at.starts_with("/*") || at.starts_with("#")) {
    return "JSON has no comments: remove it, or write the document in TOML";
  }
  if (at.starts_with("'")) return "texts and names stand in double quotes: \"read\"";
  if (detail.starts_with("invalid literal")) {
    return "texts and names stand in double quotes; without them there are numbers, true, false "
           "and null";
  }
  if (detail.find("missing closing quote") != std::string_view::npos) {
    return "close the text with a double quote";
  }
  if (detail.find("after backslash") != std::string_view::npos) {
    return "write a backslash as two: \\\\";
  }
  if (detail.starts_with("invalid string")) return {};  // says what to write
  if (detail.starts_with("number overflow")) return "write a number closer to zero";
  if (met("end of input") && wanted("string literal")) {
    return "the document ends too early: remove the comma at its end, or close what is open with "
           "} or ]";
  }
  if (met("end of input")) return "the document ends too early: close what is open with } or ]";
  if (wanted("end of input")) return "the document is over before this: remove what is behind it";
  if ((met("'}'") || met("']'")) && !wanted("':'")) {
    return "remove the comma before it, or close what was opened last";
  }
  if (met("','")) return "write one comma between two entries, and none before the first";
  if (wanted("':'")) return "write a colon between a name and its value: {\"version\": 1}";
  if (wanted("string literal")) return "names stand in double quotes: {\"version\": 1}";
  if (wanted("'}'") || wanted("']'")) return "write a comma between two entries, or close the list";
  return "an object is {\"version\": 1}, a list [\"/usr\"]; texts and names stand in double quotes";
}

class TreeBuilder {
 public:
  TreeBuilder(std::string_view text, const std::string& file, std::size_t max_values)
      : text_(text), file_(file), cursor_(text), max_values_(max_values) {}

  std::size_t* taken() { return &taken_; }
  [[nodiscard]] bool is_syntax_error() const { return syntax_error_; }
  Result<Node> finish() && {
    if (error_) return fail(std::move(*error_));
    return std::move(root_);
  }

  bool null() { return add(Node(nullptr)); }
  bool boolean(bool value) { return add(Node(value)); }
  bool number_integer(Json::number_integer_t value) { return add(Node(std::int64_t{value})); }
  bool number_unsigned(Json::number_unsigned_t value) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return too_large();
    }
    return add(Node(std::uint64_t{value}));
  }
  bool number_float(Json::number_float_t value, const std::string& spelling) {
    if (spelling.find_first_of(".eE") == std::string::npos) return too_large();
    return add(Node(double{value}));
  }
  bool string(std::string& value) { return add(Node(std::move(value))); }
  bool binary(Json::binary_t& /*value*/) { return refuse(Position{}, "binary value in JSON"); }

  bool start_object(std::size_t /*size*/) { return open(Node(NodeMap{})); }
  bool start_array(std::size_t /*size*/) { return open(Node(NodeList{})); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    Frame& frame = frames_.back();
    frame.key_position = token_position();
    if (is_there(frame, name)) {
      return refuse(frame.key_position, "duplicate key " + shown(name), kDuplicateHint);
    }
    frame.key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t read, const std::string& token, const Json::exception& exception) {
    const std::string_view detail = detail_of(exception.what());
    const std::size_t length =
        detail.starts_with("number overflow") ? token.size() : literal_length(detail, token);
    const std::size_t start = read < length ? 0 : read - length;
    syntax_error_ = !error_;
    return refuse(cursor_.at(start), "malformed JSON: " + std::string(detail),
                  hint_for(detail, text_, start));
  }

 private:
  // Between two events the lexer skips blanks, commas and colons only, so the token of this event
  // starts at the first other byte behind the last event.
  Position token_position() {
    std::size_t start = text_.find_first_not_of(" \t\r\n,:", last_end_);
    if (start == std::string_view::npos) start = text_.size();
    last_end_ = taken_;
    return cursor_.at(start);
  }

  bool refuse(Position position, std::string what, std::string hint = {}) {
    if (!error_) error_ = document_error(file_, position, std::move(what), std::move(hint));
    return false;
  }
  bool too_large() {
    return refuse(token_position(), "integer does not fit into 64 bits",
                  "write a number closer to zero");
  }

  bool add(Node node) {
    const Position position = token_position();
    if (++values_ > max_values_) return refuse(position, "too many values");
    node.line = position.line;
    node.column = position.column;
    place(std::move(node));
    return true;
  }

  void place(Node node) {
    if (frames_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = frames_.back();
    if (auto* list = std::get_if<NodeList>(&frame.node.value)) {
      list->push_back(std::move(node));
    } else if (auto* map = std::get_if<NodeMap>(&frame.node.value)) {
      node.key_line = frame.key_position.line;
      node.key_column = frame.key_position.column;
      map->emplace_back(std::move(frame.key), std::move(node));
    }
  }

  bool open(Node container) {
    const Position position = token_position();
    if (frames_.size() == kMaxDocumentDepth) return refuse(position, "nested deeper than 64");
    if (++values_ > max_values_) return refuse(position, "too many values");
    container.line = position.line;
    container.column = position.column;
    frames_.push_back(Frame{std::move(container), {}, {}, {}});
    return true;
  }

  bool close() {
    last_end_ = taken_;
    Node node = std::move(frames_.back().node);
    frames_.pop_back();
    place(std::move(node));
    return true;
  }

  std::string_view text_;
  const std::string& file_;
  PositionCursor cursor_;
  std::size_t max_values_;
  std::size_t values_ = 0;
  bool syntax_error_ = false;
  std::size_t taken_ = 0;
  std::size_t last_end_ = 0;
  std::vector<Frame> frames_;
  Node root_;
  std::optional<Error> error_;
};

void parse(std::string_view text, TreeBuilder& builder) {
  const CountingIterator begin(text.data(), builder.taken());
  const CountingIterator end(text.data() + text.size(), builder.taken());
  (void)Json::sax_parse(begin, end, &builder);  // a refusal is kept by the builder
}

}  // namespace

Result<Node> read_json(std::string_view text, const std::string& name) {
  CORDON_CHECK(check_document_bytes(text, name));
  TreeBuilder builder(text, name, kMaxDocumentBytes);
  try {
    parse(text, builder);
  } catch (const Json::exception& exception) {
    return fail(document_error(name, Position{0, 0},
                               "malformed JSON: " + std::string(detail_of(exception.what()))));
  }
  return std::move(builder).finish();
}

tl::expected<Node, MessageFault> read_json_message(std::string_view text, MessageBounds bounds) {
  using Kind = MessageFault::Kind;
  if (text.size() > bounds.bytes) {
    return tl::make_unexpected(MessageFault{Kind::Content, "message is too large"});
  }
  // The lexer would skip the one and take the other for the end.
  if (text.starts_with("\xEF\xBB\xBF") || text.find('\0') != std::string_view::npos) {
    return tl::make_unexpected(MessageFault{Kind::Syntax, "byte-order mark or NUL byte"});
  }
  const std::string nameless;
  TreeBuilder builder(text, nameless, bounds.values);
  try {
    parse(text, builder);
  } catch (const Json::exception& exception) {
    return tl::make_unexpected(
        MessageFault{Kind::Syntax, std::string(detail_of(exception.what()))});
  }
  const Kind kind = builder.is_syntax_error() ? Kind::Syntax : Kind::Content;
  auto node = std::move(builder).finish();
  if (!node) return tl::make_unexpected(MessageFault{kind, std::move(node).error().what});
  return std::move(*node);
}

namespace {

// U+0080 to U+009F, of which terminals take one for the beginning of a command.
bool begins_c1(std::string_view text) {
  constexpr unsigned char kLead = 0xC2;
  constexpr unsigned char kEnd = 0xA0;
  return text.size() > 1 && static_cast<unsigned char>(text[0]) == kLead &&
         static_cast<unsigned char>(text[1]) < kEnd;
}

// `text` is UTF-8. A document may end up on a terminal, so it holds no control character.
// How many bytes at the beginning are printable ASCII that needs no escape.
std::size_t plain_run(std::string_view text) {
  const auto end = std::ranges::find_if(
      text, [](unsigned char c) { return c < 0x20 || c >= 0x7F || c == '"' || c == '\\'; });
  return static_cast<std::size_t>(end - text.begin());
}

void append_escaped(std::string& out, std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out.push_back('"');
  for (std::size_t i = 0; i < text.size(); ++i) {
    // Nearly all text stands for itself: a run of it at a time.
    const std::size_t run = plain_run(text.substr(i));
    out.append(text, i, run);
    i += run;
    if (i == text.size()) break;
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
