#include "cli/companion_main.h"

#include <string>

#include "cli/talk.h"
#include "cli/verbs.h"

namespace cordon {

int companion_main(std::string_view verb, int (*entry)(const Arguments&),
                   std::span<const char* const> words) {
  const Verb& known = *find_verb(verb);
  const auto refuse = [&](const Error& error) {
    say_error(error);
    return known.usage_status;
  };
  if (words.size() < 2 || words[1] != verb) {
    return refuse(
        usage_error("this program is a part of cordon", "cordon " + std::string(verb) + " -h"));
  }
  Arguments arguments;
  const auto parsed = parse_arguments(known, words.subspan(2), arguments);
  return parsed ? entry(arguments) : refuse(parsed.error());
}

}  // namespace cordon
