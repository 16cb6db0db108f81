#include "base/shell_word.h"

#include <algorithm>

namespace cordon {
namespace {

// Characters that no shell gives a meaning anywhere in a word. '=' and '~' are not among them: they
// have one at the beginning, and '%' and '^' have one in some shells.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-./:,@+").find(c) != std::string_view::npos;
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string word("'");
  for (const char c : text) {
    // Between single quotes nothing has a meaning but the single quote itself.
    if (c == '\'') {
      word.append("'\\''");
    } else {
      word.push_back(c);
    }
  }
  return word.append("'");
}

std::string shell_line(std::span<const std::string> words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line.push_back(' ');
    line.append(shell_word(word));
  }
  return line;
}

}  // namespace cordon
