// cordon-inside: what Cordon itself runs inside a sandbox. As its first process where bubblewrap
// or an OCI runtime made it or an engine did from an exported plan, as the program that reads or
// writes the one file of a file tool, and as what starts the commands of a session. Nobody types
// it.
#include <span>
#include <string_view>

#include "base/text.h"
#include "faces/mcp/inside/inside.h"
#include "sandbox/bundle/bundle_init.h"
#include "sandbox/bwrap/inside.h"
#include "sandbox/native/container_init.h"
#include "sandbox/session/protocol.h"
#include "sandbox/session/spawner.h"

int main(int argc, char** argv) {
  constexpr int kRefused = 125;
  const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (word == cordon::mcp::kFileInside) return cordon::mcp::file_inside(words.subspan(2));
  if (word == cordon::native::kConfineInside && argc == 3) {
    return cordon::native::confine_in_container(argv[2]);
  }
  if (argc != 2) return kRefused;
  if (word == cordon::session::kSpawnInside) return cordon::session::spawn_inside();
  if (word == cordon::bundle::kRunInside) return cordon::bundle::begin_in_container();
  if (word == "try") return cordon::bwrap::try_inside();
  const auto handed = cordon::parse_number(word);
  return handed ? cordon::bwrap::begin_inside(static_cast<int>(*handed)) : kRefused;
}
