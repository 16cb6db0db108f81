// cordon-setup: the verb `cordon setup`, started by cordon.
#include <string_view>

#include "cli/talk.h"
#include "cli/verbs.h"

namespace {

int usage(const cordon::Error& error) {
  cordon::say_error(error);
  return cordon::kAnswerError;
}

}  // namespace

#ifdef __SANITIZE_ADDRESS__
// The leak check at exit traces the process, which costs seconds.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
#endif

int main(int argc, char** argv) {
  const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb != "setup") {
    return usage(cordon::usage_error("this program is a part of cordon", "cordon setup -h"));
  }
  cordon::Arguments arguments;
  const auto parsed =
      cordon::parse_arguments(*cordon::find_verb("setup"), words.subspan(2), arguments);
  return parsed ? cordon::verb_setup(arguments) : usage(parsed.error());
}
