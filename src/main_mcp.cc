// cordon-mcp: the verb `cordon mcp`, started by cordon; and, inside the sandboxes of its file
// tools, the program that reads or writes their one file.
#include <string_view>

#include "cli/companion_main.h"
#include "cli/verbs.h"
#include "mcp/tools/file_inside.h"

int main(int argc, char** argv) {
  const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == cordon::mcp::kFileInside) return cordon::mcp::file_inside(words.subspan(2));
  return cordon::companion_main("mcp", cordon::verb_mcp, words);
}
