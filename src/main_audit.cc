// cordon-audit: the verbs of `cordon audit`, started by cordon.
#include <string>

#include "base/text.h"
#include "cli/help_text.h"
#include "cli/talk.h"
#include "cli/verbs.h"

namespace {

using cordon::Arguments;

struct Dispatch {
  std::string_view name;
  int (*entry)(const Arguments&);
};

constexpr Dispatch kEntries[] = {
    {"audit list", cordon::verb_audit_list},     {"audit show", cordon::verb_audit_show},
    {"audit tail", cordon::verb_audit_tail},     {"audit stats", cordon::verb_audit_stats},
    {"audit verify", cordon::verb_audit_verify}, {"audit export", cordon::verb_audit_export},
    {"audit prune", cordon::verb_audit_prune},
};

int usage(const cordon::Error& error) {
  cordon::say_error(error);
  return cordon::kAnswerError;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span<const char* const> words(argv, static_cast<std::size_t>(argc));
  const std::string name = "audit " + std::string(argc > 1 ? argv[1] : "");
  for (const Dispatch& candidate : kEntries) {
    if (candidate.name != name) continue;
    Arguments arguments;
    const auto parsed =
        cordon::parse_arguments(*cordon::find_verb(name), words.subspan(2), arguments);
    return parsed ? candidate.entry(arguments) : usage(parsed.error());
  }
  return usage(cordon::usage_error("this program is a part of cordon", "cordon audit -h"));
}
