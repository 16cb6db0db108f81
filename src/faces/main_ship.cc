// cordon-ship: what of `cordon audit` speaks to PostgreSQL, started by cordon as `cordon-ship VERB
// SUB-VERB`. It loads PostgreSQL's client library while it runs, so it is the one program that is
// linked dynamically: a static one cannot load anything that was built against another C library
// (ADR 0103).
#include <string>

#include "base/fd.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"

namespace {

using cordon::Arguments;

struct ShipVerb {
  std::string_view name;
  int (*entry)(const Arguments&);
};

constexpr ShipVerb kShipVerbs[] = {
    {"audit ship", cordon::verb_audit_ship},
    {"audit list", cordon::fleet_list},
    {"audit stats", cordon::fleet_stats},
    {"audit verify", cordon::fleet_verify},
};

int carry_out_ship(std::span<const char* const> words) {
  for (const ShipVerb& known : kShipVerbs) {
    if (words.size() < 2 || std::string(words[0]).append(" ").append(words[1]) != known.name)
      continue;
    const cordon::Verb& verb = *cordon::find_verb(known.name);
    Arguments arguments;
    const auto parsed = cordon::read_arguments(verb, words.subspan(2), arguments);
    if (parsed) return known.entry(arguments);
    cordon::say_error(parsed.error());
    return verb.usage_status;
  }
  cordon::say_error(cordon::usage_error("this program is a part of cordon", "cordon -h"));
  return cordon::kAnswerError;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kRefused = 1;
  if (!cordon::open_standard_streams()) return kRefused;
  const std::span<const char* const> given(argv, static_cast<std::size_t>(argc));
  return carry_out_ship(given.subspan(argc > 0 ? 1 : 0));
}
