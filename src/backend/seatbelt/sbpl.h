// The language of Seatbelt profiles (SBPL): strings that cannot end early, paths as the kernel of
// macOS sees them, patterns as regular expressions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace cordon::seatbelt {

// `text` as a string literal. Refuses control bytes, which no literal can hold safely.
Result<std::string> quoted(std::string_view text);

// /etc, /tmp and /var are links into /private there, and the kernel judges what they lead to.
std::string real_path(std::string_view path);

// A regular expression literal that matches what the glob matches below `anchor`, and everything
// below that. Where it cannot be exact it matches more: it is for denies alone.
Result<std::string> deny_regex(std::string_view anchor, std::string_view glob);

}  // namespace cordon::seatbelt
