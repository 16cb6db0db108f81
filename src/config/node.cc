#include "config/node.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/text.h"

namespace cordon {

Node::Node(std::uint64_t number)
    : value(number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())
                ? std::numeric_limits<std::int64_t>::max()
                : static_cast<std::int64_t>(number)) {}

const Node* Node::find(std::string_view key) const {
  const NodeMap* members = map();
  if (members == nullptr) return nullptr;
  for (const auto& [name, member] : *members) {
    if (name == key) return &member;
  }
  return nullptr;
}

Node& Node::set(std::string key, Node member) {
  if (std::holds_alternative<std::nullptr_t>(value)) value = NodeMap{};
  auto* members = std::get_if<NodeMap>(&value);
  CORDON_ASSERT(members != nullptr);
  members->emplace_back(std::move(key), std::move(member));
  return *this;
}

namespace {

constexpr std::size_t kShownBytes = 64;

}  // namespace

Position PositionCursor::at(std::size_t offset) {
  const std::size_t end = std::min(offset, text_.size());
  for (; offset_ < end; ++offset_) {
    const auto byte = static_cast<unsigned char>(text_[offset_]);
    if (byte == '\n') {
      ++position_.line;
      position_.column = 1;
    } else if ((byte & 0xC0U) != 0x80U) {
      ++position_.column;
    }
  }
  return position_;
}

Error document_error(const std::string& file, Position position, std::string what,
                     std::string hint) {
  Error error = policy_error(std::move(what), std::move(hint));
  error.place = Place{file, position.line, position.column};
  return error;
}

std::string shown(std::string_view text) {
  std::string out("\"");
  if (text.size() <= kShownBytes) return out.append(sanitize(text)).append("\"");
  std::size_t end = kShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return out.append(sanitize(text.substr(0, end))).append("...\"");
}

Result<void> check_document_bytes(std::string_view text, const std::string& file) {
  if (text.size() > kMaxDocumentBytes) {
    return fail(document_error(file, Position{0, 0}, "document is larger than 1 MiB"));
  }
  if (text.starts_with("\xEF\xBB\xBF")) {
    return fail(document_error(file, Position{}, "document starts with a byte-order mark",
                               "save it as UTF-8 without a byte-order mark"));
  }
  const std::size_t nul = text.find('\0');
  if (nul != std::string_view::npos) {
    return fail(document_error(file, PositionCursor(text).at(nul), "document holds a NUL byte",
                               "name a text file, in TOML or JSON"));
  }
  return {};
}

}  // namespace cordon
