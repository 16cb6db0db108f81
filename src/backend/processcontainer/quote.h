// A list of arguments as the one text that a program on Windows is started with. What that program
// makes of it is its own affair; nearly all split it by the rules of Microsoft's C runtime.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cordon::processcontainer {

// One argument in the quoting that the C runtime undoes.
std::string quote_argument(std::string_view argument);
// The arguments with blanks between. Nothing if one of them holds a NUL, which ends the text, or if
// there is none, or if the first, the program's name, holds a quote: there the rules are others.
std::optional<std::string> command_line(std::span<const std::string> arguments);

}  // namespace cordon::processcontainer
