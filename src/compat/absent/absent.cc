// The compat wing of a build with -DCORDON_COMPAT=OFF: nothing of it. What a face asks for is
// refused by name; backends are Cordon's own three.
#include "compat/backends.h"
#include "compat/engine/engine.h"
#include "compat/mxc/executor/examine.h"
#include "compat/mxc/executor/inside.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"
#include "run/backends.h"

namespace cordon {
namespace {

Error not_built(const std::string& what) {
  return setup_error(what + " is not part of this build", 0,
                     "it was built with -DCORDON_COMPAT=OFF; build it without that option");
}

int refuse(const std::string& what, int status) {
  say_error(not_built(what));
  return status;
}

}  // namespace

MakeBackend every_backend(const Caller&, std::string, std::string) {
  return [](BackendKind kind) { return make_backend(kind); };
}

bool is_oci_runtime(std::string_view) { return true; }

std::optional<std::string> installed_oci_runtime(std::string_view) { return std::nullopt; }

int verb_policy_convert(const Arguments&) { return refuse("policy convert", kAnswerError); }

int verb_export_oci(const Arguments&) { return refuse("export oci", kAnswerError); }

int verb_export_kube(const Arguments&) { return refuse("export kube", kAnswerError); }

int verb_export_slurm(const Arguments&) { return refuse("export slurm", kAnswerError); }

Result<SlurmJob> slurm_job(const Policy&) { return fail(not_built("what Slurm is asked for")); }

int verb_oci(const Arguments&) { return refuse("oci", find_verb("oci")->usage_status); }

int print_for_apply(const Arguments&) { return refuse("apply", kAnswerError); }

int verb_mxc(std::span<const char* const>) { return refuse("mxc", find_verb("mxc")->usage_status); }

int verb_srt(const Arguments&) { return refuse("srt", find_verb("srt")->usage_status); }

}  // namespace cordon

namespace cordon::mxc {

bool Pin::is_zero() const { return true; }

std::optional<ExecutorAccount> examine_executor(const Caller&) { return std::nullopt; }

int run_inside() { return refuse("executor-inside", kAnswerError); }

}  // namespace cordon::mxc
