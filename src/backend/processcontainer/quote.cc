#include "backend/processcontainer/quote.h"

namespace cordon::processcontainer {

std::string quote_argument(std::string_view argument) {
  const bool plain =
      !argument.empty() && argument.find_first_of(" \t\n\v\"") == std::string_view::npos;
  if (plain) return std::string(argument);
  std::string quoted = "\"";
  std::size_t backslashes = 0;
  for (const char c : argument) {
    if (c == '\\') {
      ++backslashes;
      continue;
    }
    // Before a quote backslashes count double, and one more makes the quote a plain character.
    if (c == '"') backslashes = backslashes * 2 + 1;
    quoted.append(backslashes, '\\');
    backslashes = 0;
    quoted += c;
  }
  // The closing quote is one, too.
  quoted.append(backslashes * 2, '\\');
  return quoted + '"';
}

std::optional<std::string> command_line(std::span<const std::string> arguments) {
  if (arguments.empty() || arguments.front().empty()) return std::nullopt;
  // In the program's name backslashes are never anything else, and a quote cannot be written.
  const std::string& program = arguments.front();
  if (program.find('"') != std::string::npos) return std::nullopt;
  std::string line =
      program.find_first_of(" \t") == std::string::npos ? program : "\"" + program + "\"";
  for (const std::string& argument : arguments.subspan(1)) line += " " + quote_argument(argument);
  if (line.find('\0') != std::string::npos) return std::nullopt;
  return line;
}

}  // namespace cordon::processcontainer
