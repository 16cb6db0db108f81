#include "backend/bwrap/bwrap_backend.h"

#include <sys/wait.h>

#include <chrono>

#include "backend/bwrap/outer.h"
#include "backend/bwrap/program.h"
#include "backend/bwrap/sealed.h"
#include "backend/native/grouped_backend.h"
#include "backend/native/native_backend.h"
#include "backend/native/probe.h"
#include "base/text.h"

namespace cordon::bwrap {
namespace {

constexpr std::chrono::seconds kStartPatience{5};

// Really starts the first process in namespaces of bubblewrap's and lets it mount something.
Result<void> try_first_process(const Program& program) {
  CORDON_TRY(inside, sealed_inside());
  const std::string descriptor = "/proc/self/fd/" + std::to_string(inside.file.get());
  CORDON_TRY(answer, ask(program,
                         {"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
                          "--unshare-cgroup", "--unshare-net", "--as-pid-1", "--cap-add", "ALL",
                          "--tmpfs", "/", "--proc", "/proc", "--", descriptor, "try"},
                         {inside.file.get()}, kStartPatience));
  if (WIFEXITED(answer.wait_status) && WEXITSTATUS(answer.wait_status) == 0) return {};
  return fail({.kind = ErrorKind::Unavailable,
               .what = "what bubblewrap starts on this host may not finish its root",
               .hint = "user namespaces, or capabilities in them, are refused to it here, as by "
                       "AppArmor's profile bwrap-userns-restrict; use --backend native"});
}

class Bwrap final : public native::GroupedBackend {
 public:
  [[nodiscard]] BackendKind kind() const override { return BackendKind::Bwrap; }
  [[nodiscard]] PrivateSpace private_space() const override { return PrivateSpace::Mounted; }

  [[nodiscard]] Result<Capabilities> probe() const override {
    CORDON_TRY(program, find_program());
    CORDON_CHECK(check_options(program));
    CORDON_CHECK(try_first_process(program));
    // The rest is native's, and so is what it needs of the kernel: but not the namespaces, which
    // may be permitted to bubblewrap alone.
    const std::vector<native::Probe> probes = native::probe_layers();
    for (const native::Probe& probe : probes) {
      if (!probe.ok && native::is_required(probe)) return fail(native::refusal_of(probe));
    }
    return native::capabilities_of(kind(), probes);
  }

  [[nodiscard]] Result<Plan> plan(const Clamped& clamped, const HostFacts& facts,
                                  const Caller& caller, const PlanRequest& request) const override {
    CORDON_TRY(made, make_native_plan(clamped, facts, caller, request));
    made.backend = kind();
    return made;
  }

  [[nodiscard]] Result<std::unique_ptr<Child>> launch(
      const Plan& plan, const HostFacts& facts, const std::string& run_id,
      const CommandStreams& streams) const override {
    CORDON_TRY(program, find_program());
    CORDON_CHECK(refuse_within_grants(program, plan));
    CORDON_CHECK(check_options(program));
    CORDON_TRY(inside, sealed_inside());
    CORDON_CHECK(refuse_within_grants(inside, plan));
    CORDON_TRY(bubblewrap, Bubblewrap::make(std::move(program), std::move(inside.file)));
    return native::launch_in(bubblewrap, plan, facts, run_id, streams);
  }
};

}  // namespace

std::unique_ptr<Backend> make_backend() { return std::make_unique<Bwrap>(); }

}  // namespace cordon::bwrap
