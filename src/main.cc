#include <span>

#include "base/standard_streams.h"
#include "cli/verbs.h"

int main(int argc, char** argv) {
  constexpr int kRefused = 125;
  if (!cordon::open_standard_streams()) return kRefused;
  const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  return cordon::command_line(words.subspan(argc > 0 ? 1 : 0));
}
