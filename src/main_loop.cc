// cordon-loop: the verb `cordon loop`, started by cordon.
#include <string_view>

#include "cli/talk.h"
#include "cli/verbs.h"

namespace {

int usage(const cordon::Error& error) {
  cordon::say_error(error);
  return error.exit_status;
}

}  // namespace

#ifdef __SANITIZE_ADDRESS__
// The leak check at exit traces the process, which costs seconds.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

int main(int argc, char** argv) {
  const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  if (argc < 2 || std::string_view(argv[1]) != "loop") {
    return usage(cordon::usage_error("this program is a part of cordon", "cordon loop -h"));
  }
  cordon::Arguments arguments;
  const auto parsed =
      cordon::parse_arguments(*cordon::find_verb("loop"), words.subspan(2), arguments);
  return parsed ? cordon::verb_loop(arguments) : usage(parsed.error());
}
