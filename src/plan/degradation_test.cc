// What a run comes to where the host lacks something, made from plans and compared with the table
// in tests/golden that docs/policy.md shows.
#include <gtest/gtest.h>

#include "plan/made_up_host.h"

namespace cordon {
namespace {

using namespace testing;  // the made-up host

constexpr std::string_view kTable =
#include "golden/degradation.inc"
    ;

std::string held(const Plan& plan) {
  std::string text;
  for (const PlannedLimit& limit : plan.limits) {
    if (limit.name != "pids" && limit.name != "memory") continue;
    text.append("; ").append(limit.name).append(" by ").append(name_of(limit.by));
  }
  return text;
}

std::string row(std::string_view host, const Result<Plan>& plan, std::string_view lost) {
  std::string text = "| ";
  text.append(host).append(" | ");
  if (plan) {
    text.append(plan->missing.empty() ? "runs" : "runs without ");
    for (const Layer layer : plan->missing) text.append("`").append(name_of(layer)).append("`");
    text.append(held(*plan));
  } else {
    text.append("refused: `").append(name_of(plan.error().kind)).append("`");
  }
  return text.append(" | ").append(lost).append(" |\n");
}

std::string lost(const Result<Plan>& plan) {
  std::string words;
  if (!plan) return "nothing";
  for (const Loss loss : plan->lost) {
    if (loss == Loss::InFlight) continue;  // on every host
    words.append(words.empty() ? "`" : ", `").append(name_of(loss)).append("`");
  }
  return words.empty() ? "nothing" : words;
}

TEST(Degradation, IsAsTheTableSays) {
  const auto planned = [](const HostFacts& facts, const Caller& caller, const Resolved& request,
                          const std::vector<ResolvedCeiling>& ceilings = {}) {
    return make_native_plan(*clamp(request, ceilings), facts, caller, made_up_request());
  };
  const Resolved request = resolved_preset("workspace");
  HostFacts bare = made_up_facts();
  HostFacts whole = bare;
  whole.cgroup = made_up_cgroup_v2();
  HostFacts without_landlock = whole;
  without_landlock.landlock_abi = 0;
  Resolved requiring = request;
  requiring.policy.require.layers = {Layer::Cgroup};
  ResolvedCeiling accepting;
  accepting.ceiling.policy.require.accept_missing = {run_without(Layer::Landlock)};
  accepting.read = request.read;
  accepting.write = request.write;

  std::string table = "| Host | `cordon run` | What is lost |\n|---|---|---|\n";
  table += row("everything", planned(whole, made_up_user(), request), "nothing");
  table += row("no cgroup for an ordinary user", planned(bare, made_up_user(), request),
               "memory is summed by looking, so a burst can pass the bound for a moment");
  table += row("no cgroup for root", planned(bare, made_up_root(), request),
               "both are counted by looking, so a burst can pass the bound for a moment");
  table += row("no cgroup, and the policy requires it", planned(bare, made_up_user(), requiring),
               "the policy says that it must hold");
  table += row("no Landlock", planned(without_landlock, made_up_user(), request),
               "files would be held by mounts alone");
  table += row("no Landlock, and every ceiling accepts that",
               planned(without_landlock, made_up_user(), request, {accepting}),
               "files are held by mounts alone; signals and abstract sockets by namespaces alone");
  constexpr int kNewestAbi = 7;
  for (int abi = kNewestAbi - 1; abi > 0; --abi) {
    HostFacts older = whole;
    older.landlock_abi = abi;
    const auto plan = planned(older, made_up_user(), request);
    table += row("Landlock ABI " + std::to_string(abi), plan, lost(plan));
  }
  EXPECT_EQ(table, kTable);
}

}  // namespace
}  // namespace cordon
