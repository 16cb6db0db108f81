// cordon-tools: verbs that people start now and then and no run needs, started by cordon.
#include <string>

#include "cli/talk.h"
#include "cli/verbs.h"

namespace {

using cordon::Arguments;

struct Dispatch {
  std::string_view name;
  int (*entry)(const Arguments&);
};

constexpr Dispatch kEntries[] = {
    {"changes list", cordon::verb_changes_list},
    {"changes show", cordon::verb_changes_show},
    {"changes diff", cordon::verb_changes_diff},
    {"changes apply", cordon::verb_changes_apply},
    {"changes discard", cordon::verb_changes_discard},
    {"changes restore", cordon::verb_changes_restore},
};

int usage(const cordon::Error& error) {
  cordon::say_error(error);
  return cordon::kAnswerError;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  const std::string name = argc > 2 ? std::string(argv[1]) + " " + argv[2] : std::string();
  for (const Dispatch& candidate : kEntries) {
    if (candidate.name != name) continue;
    Arguments arguments;
    const auto parsed =
        cordon::parse_arguments(*cordon::find_verb(name), words.subspan(3), arguments);
    return parsed ? candidate.entry(arguments) : usage(parsed.error());
  }
  return usage(cordon::usage_error("this program is a part of cordon", "cordon changes -h"));
}
