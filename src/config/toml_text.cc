#include "config/toml_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/check.h"
#include "base/text.h"
#include "config/node.h"
#include "config/policy_document.h"

namespace cordon {
namespace {

// The offset behind the string that opens at `start`, or the end of the text. A string that is not
// closed on its line ends there: the parser refuses it.
std::size_t skip_string(std::string_view text, std::size_t start) {
  const char mark = text[start];
  const std::string_view triple = mark == '"' ? "\"\"\"" : "'''";
  const bool multi_line = text.substr(start, 3) == triple;
  std::size_t at = start + (multi_line ? 3 : 1);
  while (at < text.size()) {
    if (mark == '"' && text[at] == '\\') {
      at += 2;
    } else if (multi_line && text.substr(at, 3) == triple) {
      at += 3;
      // Up to two more quotes belong to the content.
      for (int extra = 0; extra < 2 && at < text.size() && text[at] == mark; ++extra) ++at;
      return at;
    } else if (!multi_line && (text[at] == mark || text[at] == '\n')) {
      return at + 1;
    } else {
      ++at;
    }
  }
  return text.size();
}

}  // namespace

std::optional<std::size_t> find_overlong_toml_key(std::string_view text) {
  std::size_t dots = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = skip_string(text, at);
      continue;
    }
    if (c == '#') {
      at = text.find('\n', at);
      if (at == std::string_view::npos) return std::nullopt;
      continue;
    }
    if (c == '.') {
      if (++dots == kMaxDocumentDepth) return at;
    } else if (c == '\n' || c == '=' || c == ',' || c == '[' || c == '{') {
      dots = 0;
    }
    ++at;
  }
  return std::nullopt;
}

namespace {

std::string quoted(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out("\"");
  for (const char c : to_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out.append(1, '\\').append(1, c);
    } else if (c == '\n') {
      out.append("\\n");
    } else if (c == '\t') {
      out.append("\\t");
    } else if (byte < 0x20 || byte == 0x7F) {
      out.append("\\u00").append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 0xFU]);
    } else {
      out.push_back(c);
    }
  }
  return out.append("\"");
}

std::string key_text(const std::string& key) {
  const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  return bare ? key : quoted(key);
}

struct ValueWriter {
  std::string operator()(std::nullptr_t) const { CORDON_BUG("TOML has no null"); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const {
    CORDON_ASSERT(std::isfinite(value));
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    std::string text(digits.data(), end);
    if (text.find_first_of(".e") == std::string::npos) text.append(".0");
    return text;
  }
  std::string operator()(const std::string& text) const { return quoted(text); }
  std::string operator()(const NodeList& list) const {
    std::string out("[");
    for (const Node& element : list) {
      if (out.size() > 1) out.append(", ");
      out.append(std::visit(*this, element.value));
    }
    return out.append("]");
  }
  std::string operator()(const NodeMap& map) const {
    std::string out("{");
    for (const auto& [key, value] : map) {
      out.append(out.size() > 1 ? ", " : " ");
      out.append(key_text(key)).append(" = ").append(std::visit(*this, value.value));
    }
    return out.append(out.size() > 1 ? " }" : "}");
  }
};

void append_member(std::string& out, const std::string& key, const Node& value) {
  out.append(key_text(key)).append(" = ").append(write_toml_value(value)).push_back('\n');
}

}  // namespace

std::string write_toml_value(const Node& node) { return std::visit(ValueWriter{}, node.value); }

std::string write_toml(const Policy& policy) {
  const Node document = encode_policy(policy);
  const NodeMap* members = document.map();
  CORDON_ASSERT(members != nullptr);
  std::string out;
  for (const auto& [key, value] : *members) {
    const NodeMap* table = value.map();
    if (const NodeList* tables = value.list(); tables != nullptr) {
      for (const Node& element : *tables) {
        out.append("\n[[").append(key_text(key)).append("]]\n");
        const NodeMap* row = element.map();
        CORDON_ASSERT(row != nullptr);
        for (const auto& [name, member] : *row) append_member(out, name, member);
      }
      continue;
    }
    if (table == nullptr) {
      append_member(out, key, value);
      continue;
    }
    out.append("\n[").append(key_text(key)).append("]\n");
    for (const auto& [name, member] : *table) append_member(out, name, member);
  }
  return out;
}

}  // namespace cordon
