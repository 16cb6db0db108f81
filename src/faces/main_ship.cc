// cordon-ship: what of `cordon audit` speaks to PostgreSQL and to OTLP receivers, started by cordon
// as `cordon-ship VERB SUB-VERB`. It loads PostgreSQL's client library while it runs, so it is the
// one program that is linked dynamically: a static one cannot load anything that was built against
// another C library (ADR 0103).
#include "base/fd.h"
#include "faces/cli/helper_program.h"
#include "faces/cli/verbs.h"

namespace {

constexpr cordon::HelperVerb kShipVerbs[] = {
    {"audit ship", cordon::verb_audit_ship}, {"audit list", cordon::fleet_list},
    {"audit stats", cordon::fleet_stats},    {"audit verify", cordon::fleet_verify},
    {"audit export", cordon::fleet_export},
};

}  // namespace

int main(int argc, char** argv) {
  constexpr int kRefused = 1;
  if (!cordon::open_standard_streams()) return kRefused;
  const std::span<const char* const> given(argv, static_cast<std::size_t>(argc));
  return cordon::carry_out_helper(kShipVerbs, given.subspan(argc > 0 ? 1 : 0));
}
