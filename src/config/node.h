// Node: a document tree that knows where each value stood. The one form in which TOML and JSON
// reach the decoders, and in which everything leaves as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"

namespace cordon {

struct Node;
using NodeList = std::vector<Node>;
using NodeMap = std::vector<std::pair<std::string, Node>>;  // in document order, no duplicate keys

struct Node {
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, NodeList, NodeMap> value =
      nullptr;
  unsigned line = 0;
  unsigned column = 0;
  unsigned key_line = 0;  // where the key of this member stood
  unsigned key_column = 0;

  Node() = default;
  template <typename T>
  Node(T v) : value(std::move(v)) {}  // NOLINT(google-explicit-constructor): JSON building blocks
  Node(const char* text) : value(std::string(text)) {}
  Node(std::string_view text) : value(std::string(text)) {}
  Node(int number) : value(std::int64_t{number}) {}
  Node(std::uint64_t number);  // numbers past 2^63-1 saturate

  [[nodiscard]] const Node* find(std::string_view key) const;  // null if absent or not a map
  Node& set(std::string key, Node member);                     // appends to a map; returns *this
  [[nodiscard]] const NodeMap* map() const { return std::get_if<NodeMap>(&value); }
  [[nodiscard]] const NodeList* list() const { return std::get_if<NodeList>(&value); }
  [[nodiscard]] const std::string* text() const { return std::get_if<std::string>(&value); }
};

// Both refuse duplicate keys, a byte-order mark, NUL bytes, nesting deeper than 64 and documents
// over 1 MiB, with the place. `name` is used in messages only.
Result<Node> read_json(std::string_view text, const std::string& name);
Result<Node> read_toml(std::string_view text, const std::string& name);

// What one message of a peer may hold. The values are bounded beside the bytes: "[1,1,1...]" grows
// thirtyfold when it is read.
struct MessageBounds {
  std::size_t bytes;
  std::size_t values;
};
struct MessageFault {
  enum class Kind {
    Syntax,   // not JSON, or not UTF-8
    Content,  // JSON that is refused: duplicate keys, too deep, too large, integers past 64 bits
  };
  Kind kind;
  std::string what;
};
// One JSON value from a peer instead of a file: read_json with other bounds.
tl::expected<Node, MessageFault> read_json_message(std::string_view text, MessageBounds bounds);

enum class JsonStyle { Compact, Pretty };
// Strings that are not UTF-8 are written with U+FFFD; the output is always valid JSON.
std::string write_json(const Node& node, JsonStyle style);
// One TOML value on one line; the node holds no null.
std::string write_toml_value(const Node& node);

// What both readers ask of the bytes of a document before any parser sees them, and the way from
// an offset in those bytes to a line and a column.

inline constexpr std::size_t kMaxDocumentBytes = std::size_t{1} << 20U;
inline constexpr std::size_t kMaxDocumentDepth = 64;

struct Position {
  unsigned line = 1;
  unsigned column = 1;  // in code points
  bool operator==(const Position&) const = default;
};

// Walks forward through a text. A call with an offset behind the last one answers with the last
// position; offsets past the end mean the end.
class PositionCursor {
 public:
  explicit PositionCursor(std::string_view text) : text_(text) {}
  Position at(std::size_t offset);

 private:
  std::string_view text_;
  std::size_t offset_ = 0;
  Position position_;
};

Error document_error(const std::string& file, Position position, std::string what,
                     std::string hint = {});

// `text` in double quotes for a message: control characters escaped, cut where it is too long to be
// read.
std::string shown(std::string_view text);

// Refuses a document over 1 MiB, a byte-order mark and NUL bytes.
Result<void> check_document_bytes(std::string_view text, const std::string& file);

}  // namespace cordon
