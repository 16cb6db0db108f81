#include "run/backends.h"

#include <string>

#include "sandbox/bwrap/bwrap_backend.h"
#include "sandbox/landlock/landlock_backend.h"
#include "sandbox/native/native_backend.h"

namespace cordon {
namespace {

class Native final : public native::GroupedBackend {
 public:
  [[nodiscard]] BackendKind kind() const override { return BackendKind::Native; }
  [[nodiscard]] PrivateSpace private_space() const override { return PrivateSpace::Mounted; }
  [[nodiscard]] Result<Capabilities> probe() const override { return native::probe_native(); }
  [[nodiscard]] Result<Plan> plan(const Clamped& clamped, const HostFacts& facts,
                                  const Caller& caller, const PlanRequest& request) const override {
    return make_native_plan(clamped, facts, caller, request);
  }
  [[nodiscard]] Result<std::unique_ptr<Building>> build(
      const Plan& plan, const HostFacts& facts, const std::string& run_id,
      const CommandStreams& streams) const override {
    return native::build_native(plan, facts, run_id, streams, ahead_);
  }
  void start_from(native::Forerunner& ahead) override { ahead_ = &ahead; }

 private:
  native::Forerunner* ahead_ = nullptr;
};

class Landlock final : public native::GroupedBackend {
 public:
  [[nodiscard]] BackendKind kind() const override { return BackendKind::Landlock; }
  [[nodiscard]] PrivateSpace private_space() const override { return PrivateSpace::OnDisk; }
  [[nodiscard]] Result<Capabilities> probe() const override { return landlock::probe_landlock(); }
  [[nodiscard]] Result<Plan> plan(const Clamped& clamped, const HostFacts& facts,
                                  const Caller& caller, const PlanRequest& request) const override {
    return make_landlock_plan(clamped, facts, caller, request);
  }
  [[nodiscard]] Result<std::unique_ptr<Building>> build(
      const Plan& plan, const HostFacts& facts, const std::string& run_id,
      const CommandStreams& streams) const override {
    return landlock::build_landlock(plan, facts, run_id, streams);
  }
};

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(BackendKind kind) {
  switch (kind) {
    case BackendKind::Native:
      return std::make_unique<Native>();
    case BackendKind::Bwrap:
      return bwrap::make_backend();
    case BackendKind::Landlock:
      return std::make_unique<Landlock>();
    case BackendKind::Mxc:
    case BackendKind::Oci:
    case BackendKind::Seatbelt:
    case BackendKind::ProcessContainer:
      break;
  }
  return fail(
      {.kind = ErrorKind::Unsupported,
       .what = "backend " + std::string(name_of(kind)) + " is not supported by this version",
       .hint = "use --backend native"});
}

}  // namespace cordon
