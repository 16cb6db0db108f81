#include "faces/mcp/id_scan.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kLongestKey = 8;
constexpr std::size_t kLongestValue = 2048;  // of an id, with its quotes and escapes

}  // namespace

void IdScan::add(std::string_view bytes) {
  for (const char c : bytes) take(c);
}

void IdScan::take(char c) {
  const bool ends_value = !in_text_ && depth_ == 1 && (c == ',' || c == '}');
  if (ends_value) capturing_ = false;
  if (capturing_ && value_.size() < kLongestValue) value_ += c;
  if (in_text_) {
    const bool ends = c == '"' && !escaped_;
    escaped_ = c == '\\' && !escaped_;
    if (ends) {
      in_text_ = false;
    } else if (is_key_ && depth_ == 1 && key_.size() < kLongestKey) {
      key_ += c;
    }
    return;
  }
  switch (c) {
    case '"':
      in_text_ = true;
      if (is_key_ && depth_ == 1) key_.clear();
      break;
    case '{':
    case '[':
      if (++depth_ == 1) is_key_ = c == '{';
      break;
    case '}':
    case ']':
      if (depth_ > 0) --depth_;
      break;
    case ':':
      if (depth_ != 1) break;
      is_key_ = false;
      capturing_ = key_ == "id";
      if (capturing_) value_.clear();
      break;
    case ',':
      if (depth_ == 1) is_key_ = true;
      break;
    default:
      break;
  }
}

std::optional<Id> IdScan::id() const {
  if (value_.empty() || value_.size() == kLongestValue) return std::nullopt;
  const auto request = decode_envelope(R"({"jsonrpc":"2.0","method":"m","id":)" + value_ + "}");
  const auto* whole = std::get_if<RpcRequest>(&request);
  return whole != nullptr ? std::optional(whole->id) : std::nullopt;
}

}  // namespace cordon::mcp
