#include "run/backends.h"

#include <string>

#include "backend/bwrap/bwrap_backend.h"
#include "backend/landlock/landlock_backend.h"
#include "backend/mxc/mxc_backend.h"
#include "backend/native/grouped_backend.h"
#include "backend/native/native_backend.h"
#include "backend/seatbelt/seatbelt_backend.h"
#include "base/text.h"

namespace cordon {
namespace {

class Native final : public native::GroupedBackend {
 public:
  [[nodiscard]] std::string_view name() const override { return "native"; }
  [[nodiscard]] Result<Capabilities> probe() const override { return native::probe_native(); }
  [[nodiscard]] Result<Plan> plan(const Clamped& clamped, const HostFacts& facts,
                                  const Caller& caller, const PlanRequest& request) const override {
    return make_native_plan(clamped, facts, caller, request);
  }
  [[nodiscard]] Result<std::unique_ptr<Child>> launch(
      const Plan& plan, const HostFacts& facts, const std::string& run_id,
      const CommandStreams& streams) const override {
    return native::launch_native(plan, facts, run_id, streams);
  }
};

class Landlock final : public native::GroupedBackend {
 public:
  [[nodiscard]] std::string_view name() const override { return "landlock"; }
  [[nodiscard]] Result<Capabilities> probe() const override { return landlock::probe_landlock(); }
  [[nodiscard]] Result<Plan> plan(const Clamped& clamped, const HostFacts& facts,
                                  const Caller& caller, const PlanRequest& request) const override {
    return make_landlock_plan(clamped, facts, caller, request);
  }
  [[nodiscard]] Result<std::unique_ptr<Child>> launch(
      const Plan& plan, const HostFacts& facts, const std::string& run_id,
      const CommandStreams& streams) const override {
    return landlock::launch_landlock(plan, facts, run_id, streams);
  }
};

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(std::string_view name, const std::string& program) {
  if (name == "native") return std::unique_ptr<Backend>(std::make_unique<Native>());
  if (name == "landlock") return std::unique_ptr<Backend>(std::make_unique<Landlock>());
  if (name == "bwrap") return bwrap::make_backend();
  if (name == "mxc") return mxc::make_mxc_backend(program);
  if (name == "seatbelt") return seatbelt::make_backend();
  // Its command lines are values that nothing runs.
  if (name == "processcontainer") {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "backend processcontainer is not supported by this version",
                 .hint = "use --backend native"});
  }
  return fail(usage_error("unknown backend " + quote(name),
                          "known: native, bwrap, landlock, mxc, seatbelt"));
}

}  // namespace cordon
