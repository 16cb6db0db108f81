#include "backend/seatbelt/seatbelt_plan.h"

#include <algorithm>

#include "backend/seatbelt/profile.h"
#include "plan/limits.h"
#include "plan/private_places.h"

namespace cordon::seatbelt {
namespace {

Error unsupported(std::string what, std::string hint) {
  return {.kind = ErrorKind::Unsupported, .what = std::move(what), .hint = std::move(hint)};
}

Result<void> refuse_layers(const Effective& effective, Plan& plan) {
  for (const Layer layer : effective.require) {
    const auto& accepted = effective.accept_missing;
    if (std::ranges::find(accepted, layer) == accepted.end()) {
      return fail(unsupported("the policy requires the layer " + std::string(name_of(layer)) +
                                  ", which seatbelt does not have",
                              "remove it from [require] layers, or use --backend native"));
    }
    plan.missing.push_back(layer);
  }
  return {};
}

Result<void> plan_bounds(const Effective& effective, const Caller& caller, Plan& plan) {
  if (effective.limits.memory) {
    return fail(unsupported("limit memory cannot be held by seatbelt: macOS bounds no memory",
                            "remove limits.memory from the policy, or use --backend native"));
  }
  if (effective.limits.pids && caller.uid == 0) {
    return fail(
        unsupported("limit pids cannot be held by seatbelt for root: nothing binds it there",
                    "remove limits.pids from the policy, or run as an ordinary user"));
  }
  // There are no cgroups.
  CORDON_TRY(limits, plan_limits(effective.limits, effective.net.mode, HostFacts(), caller.uid));
  plan.limits.insert(plan.limits.end(), limits.planned.begin(), limits.planned.end());
  for (op::ResourceLimit& limit : limits.resource_limits)
    plan.confine.emplace_back(std::move(limit));
  return {};
}

}  // namespace

Result<Plan> make_plan(const Clamped& clamped, const HostFacts& facts, const Caller& caller,
                       const PlanRequest& request) {
  const Effective& effective = clamped.effective();
  Plan plan;
  plan.backend = BackendKind::Seatbelt;
  CORDON_CHECK(refuse_layers(effective, plan));
  const ShownGrants grants = shown_grants(effective, facts, plan);
  const PrivatePlaces places = plan_private_places(effective, facts, caller, request, grants, plan);
  CORDON_TRY(profile, make_profile(clamped, facts, caller, places.all(), style_for(effective)));
  std::string text;
  for (const std::string& warning : profile.warnings) text += "; " + warning + "\n";
  text += profile.text;
  plan_command_among(places, effective, caller, request, plan);
  CORDON_CHECK(plan_bounds(effective, caller, plan));
  plan.confine.emplace_back(op::CloseDescriptors{});
  plan.confine.emplace_back(op::NewSession{});
  plan.confine.emplace_back(op::ChangeDirectory{plan.cwd});
  plan.confine.emplace_back(op::LoadProfile{kSandboxExec, std::move(text), effective.net.mode});
  plan.confine.emplace_back(op::Execute{plan.argv});
  return plan;
}

}  // namespace cordon::seatbelt
