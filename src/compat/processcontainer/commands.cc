#include "compat/processcontainer/commands.h"

#include <algorithm>
#include <array>

#include "base/base64.h"

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

std::optional<std::vector<std::string>> executor_arguments(std::string_view document) {
  std::vector<std::string> arguments = {"wxc-exec.exe", "--config-base64", base64(document)};
  const auto line = command_line(arguments);
  if (!line || line->size() > kMostCommandLine) return std::nullopt;
  return arguments;
}

namespace {

constexpr std::string_view kWriter =
    "import base64,sys;open(sys.argv[1],'wb').write(base64.b64decode(sys.argv[2]))";

bool has_control(std::string_view text) {
  return std::ranges::any_of(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

std::optional<std::string> read_command(std::string_view path) {
  if (path.empty() || has_control(path)) return std::nullopt;
  std::string plain(path);
  std::erase(plain, '"');
  if (plain.empty()) return std::nullopt;
  return "cmd /c type \"" + plain + "\"";
}

std::optional<std::string> write_command(const std::string& interpreter, const std::string& path,
                                         std::string_view bytes) {
  if (path.empty() || has_control(path)) return std::nullopt;
  const std::array<std::string, 5> arguments = {interpreter, "-c", std::string(kWriter), path,
                                                base64(bytes)};
  std::optional<std::string> line = command_line(arguments);
  if (line && line->size() > kMostCommandLine) return std::nullopt;
  return line;
}

std::string parent_of(std::string_view path) {
  const std::size_t slash = path.find_last_of("\\/");
  if (slash == std::string_view::npos) return {};
  const bool drive = slash == 2 && path[1] == ':';
  return std::string(path.substr(0, drive ? slash + 1 : slash));
}

Grants grants_to_read(std::string_view path) { return {{parent_of(path)}, {}}; }

Grants grants_to_write(std::string_view path, const std::vector<std::string>& runtime) {
  return {runtime, {parent_of(path)}};
}

TreeEnd end_of_tree(unsigned long process) {
  return {{"taskkill", "/T", "/F", "/PID", std::to_string(process)},
          std::chrono::seconds(15),
          std::chrono::seconds(5)};
}

}  // namespace cordon::processcontainer
