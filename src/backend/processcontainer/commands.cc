#include "backend/processcontainer/commands.h"

#include <algorithm>
#include <array>

#include "backend/processcontainer/invocation.h"
#include "backend/processcontainer/quote.h"
#include "base/base64.h"

namespace cordon::processcontainer {
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
