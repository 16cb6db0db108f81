// cordon-tools: the verbs that no run needs, started by cordon as `cordon-tools VERB [SUB-VERB]`;
// and, under the names lxc-exec, srt and cordon-oci, in place of MXC's executor, sandbox-runtime's
// command line and an OCI runtime.
#include <vector>

#include "base/fd.h"
#include "base/own_limits.h"
#include "base/path.h"
#include "faces/cli/console.h"
#include "faces/cli/helper_program.h"
#include "faces/cli/verbs.h"
#include "faces/doctor/doctor_check.h"
#include "faces/fleet/fleet_task.h"

namespace {

constexpr cordon::HelperVerb kToolVerbs[] = {
    {"audit list", cordon::verb_audit_list},
    {"audit show", cordon::verb_audit_show},
    {"audit tail", cordon::verb_audit_tail},
    {"audit stats", cordon::verb_audit_stats},
    {"audit verify", cordon::verb_audit_verify},
    {"audit export", cordon::verb_audit_export},
    {"audit prune", cordon::verb_audit_prune},
    {"changes list", cordon::verb_changes_list},
    {"changes show", cordon::verb_changes_show},
    {"changes diff", cordon::verb_changes_diff},
    {"changes apply", cordon::verb_changes_apply},
    {"changes discard", cordon::verb_changes_discard},
    {"changes restore", cordon::verb_changes_restore},
    {"completion", cordon::verb_completion},
    {"demo", cordon::verb_demo},
    {"export kube", cordon::verb_export_kube},
    {"export oci", cordon::verb_export_oci},
    {"export slurm", cordon::verb_export_slurm},
    {"fleet cancel", cordon::verb_fleet_cancel},
    {"fleet collect", cordon::verb_fleet_collect},
    {"fleet report", cordon::verb_fleet_report},
    {"fleet status", cordon::verb_fleet_status},
    {"fleet submit", cordon::verb_fleet_submit},
    {"learn", cordon::verb_learn},
    {"loop", cordon::verb_loop},
    {"mcp", cordon::verb_mcp},
    {"oci", cordon::verb_oci},
    {"setup", cordon::verb_setup},
    {"srt", cordon::verb_srt},
    {"why", cordon::verb_why},
};

using Words = std::span<const char* const>;

}  // namespace

int main(int argc, char** argv) {
  constexpr int kRefused = 1;
  if (!cordon::open_standard_streams()) return kRefused;
  if (const auto refused = cordon::refuse_small_stack()) {
    cordon::say_error(*refused);
    return kRefused;
  }
  cordon::meet_file_size_limit();
  const Words given(argv, static_cast<std::size_t>(argc));
  std::vector<const char*> words;
  if (const auto other =
          argc > 0 ? cordon::drop_in_called(cordon::basename(argv[0])) : std::nullopt) {
    words.push_back(other->data());
  }
  for (const char* word : given.subspan(argc > 0 ? 1 : 0)) words.push_back(word);
  const std::string_view first = words.empty() ? "" : words.front();
  // The demonstration runs a part of this program inside its sandboxes.
  if (first == cordon::kInsideVerb) return cordon::doctor_inside({words.begin() + 1, words.end()});
  if (first == cordon::kFleetTask) return cordon::fleet_task(Words(words).subspan(1));
  // Its options may stand behind the operand.
  if (first == "mxc") return cordon::verb_mxc(Words(words).subspan(1));
  return cordon::carry_out_helper(kToolVerbs, words);
}
