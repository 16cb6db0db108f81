// Words for a shell that come out again as exactly the bytes that went in. Unlike quote(), which is
// for people to read and shows control characters as escapes.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cordon {

// One word, in the quoting that sh, bash, zsh and dash read alike. `text` holds no NUL byte.
std::string shell_word(std::string_view text);
// The words with blanks between.
std::string shell_line(std::span<const std::string> words);

}  // namespace cordon
