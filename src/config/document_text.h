// What both readers ask of the bytes of a document before any parser sees them, and the way from
// an offset in those bytes to a line and a column.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cordon {

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
