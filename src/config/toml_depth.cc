#include "config/toml_depth.h"

#include "config/document_text.h"

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

}  // namespace cordon
