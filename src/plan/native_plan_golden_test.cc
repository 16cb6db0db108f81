// Plans of the presets on a made-up host, compared with the texts in tests/golden. The texts are
// compiled in: the program also runs as a user who cannot read the checkout. To accept a change,
// run with CORDON_UPDATE_GOLDEN=1, read the difference, build again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "plan/made_up_host.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

using namespace testing;  // the made-up host

struct Golden {
  std::string_view name;
  std::string_view text;
};

constexpr Golden kGoldens[] = {
    {
        "plan_strict",
#include "golden/plan_strict.inc"
    },
    {
        "plan_workspace",
#include "golden/plan_workspace.inc"
    },
    {
        "plan_readonly",
#include "golden/plan_readonly.inc"
    },
    {
        "plan_build",
#include "golden/plan_build.inc"
    },
    {
        "plan_agent",
#include "golden/plan_agent.inc"
    },
    {
        "plan_agent_named_hosts",
#include "golden/plan_agent_named_hosts.inc"
    },
    {
        "plan_workspace_root",
#include "golden/plan_workspace_root.inc"
    },
    {
        "plan_workspace_git",
#include "golden/plan_workspace_git.inc"
    },
    {
        "plan_whole_disk_open_network",
#include "golden/plan_whole_disk_open_network.inc"
    },
};

// Line by line, so that a difference is shown where it is and not as two screenfuls.
void expect_golden(std::string_view name, const Plan& plan) {
  const std::string text = describe(plan);
  if (std::getenv("CORDON_UPDATE_GOLDEN") != nullptr) {
    std::ofstream file(std::string(CORDON_GOLDEN_DIR "/") + std::string(name) + ".txt");
    file << text;
    ASSERT_TRUE(file.flush()) << "cannot write " << name;
    return;
  }
  for (const Golden& golden : kGoldens) {
    if (golden.name != name) continue;
    EXPECT_EQ(text, golden.text);
    return;
  }
  FAIL() << "no golden text is called " << name;
}

Plan planned(const Resolved& request, const HostFacts& facts, const Caller& caller) {
  auto plan = make_native_plan(*clamp(request, {}), facts, caller, made_up_request());
  EXPECT_TRUE(plan) << (plan ? "" : message(plan.error()));
  return plan ? std::move(*plan) : Plan{};
}

class PresetPlan : public ::testing::TestWithParam<std::string_view> {};

// The network of every preset is closed here: what opens it is decided elsewhere.
TEST_P(PresetPlan, IsAsWrittenDown) {
  Resolved request = resolved_preset(GetParam());
  request.policy.net = {};
  expect_golden("plan_" + std::string(GetParam()),
                planned(request, made_up_facts(), made_up_user()));
}

INSTANTIATE_TEST_SUITE_P(Every, PresetPlan, ::testing::ValuesIn(preset_names()),
                         [](const auto& preset) { return std::string(preset.param); });

TEST(Plan, OfNamedHostsHasAResolverAndAFilterThatAsksAsWrittenDown) {
  Resolved request = resolved_preset("agent");
  request.policy.net.allow = {parse_host_rule("example.com:443").value()};
  expect_golden("plan_agent_named_hosts", planned(request, made_up_facts(), made_up_user()));
}

TEST(Plan, OfAStagedRunHasAnOverlayForEachWritableGrantAndHoldsNothing) {
  const std::string project = "/home/alex/project";
  HostFacts facts = made_up_facts();
  facts.held = {{project + "/.vscode", HoldKind::Editor, FileKind::Directory, {64, 7}}};
  facts.pinned = {{project + "/way", {64, 8}}};
  facts.masked = {{project + "/.env", FileKind::Regular, {64, 9}, "deny"},
                  {project + "/ro/.env", FileKind::Regular, {64, 10}, "deny"}};
  facts.git = {{project + "/.git",
                {64, 11},
                {{project + "/.git", HoldKind::Git, FileKind::Directory, {64, 11}}},
                {},
                {{project + "/.git/config", {64, 12}, "[core]\n"}}}};
  Resolved request = resolved_preset("workspace");
  request.read.push_back(made_up_grant(project + "/ro", 102));
  PlanRequest asked = made_up_request();
  asked.stage_directory = "/state/stages/1";
  const auto plan = make_native_plan(*clamp(request, {}), facts, made_up_user(), asked);
  ASSERT_TRUE(plan);
  std::vector<op::StagedTree> trees;
  std::vector<std::pair<std::string, bool>> masks;
  for (const Op& operation : plan->build) {
    EXPECT_FALSE(std::holds_alternative<op::Hold>(operation)) << describe(operation);
    EXPECT_FALSE(std::holds_alternative<op::PrivateCopy>(operation)) << describe(operation);
    EXPECT_FALSE(std::holds_alternative<op::PrivateConfig>(operation)) << describe(operation);
    const auto* bind = std::get_if<op::Bind>(&operation);
    EXPECT_TRUE(bind == nullptr || bind->path != project);
    if (const auto* tree = std::get_if<op::StagedTree>(&operation)) trees.push_back(*tree);
    if (const auto* mask = std::get_if<op::Mask>(&operation))
      masks.emplace_back(mask->path, mask->staged);
  }
  ASSERT_EQ(trees.size(), 1U);
  EXPECT_EQ(trees[0].path, project);
  EXPECT_EQ(trees[0].upper, "/state/stages/1/0/upper");
  EXPECT_EQ(trees[0].work, "/state/stages/1/0/work");
  EXPECT_EQ(trees[0].steady, "/state/stages/1/0/steady");
  asked.stage_is_copy = true;
  const auto copy = make_native_plan(*clamp(request, {}), facts, made_up_user(), asked);
  ASSERT_TRUE(copy);
  for (const Op& operation : copy->build) {
    const auto* tree = std::get_if<op::StagedTree>(&operation);
    if (tree == nullptr) continue;
    EXPECT_EQ(tree->upper, "/state/stages/1/0/copy");
    EXPECT_EQ(tree->work, "");
    EXPECT_EQ(tree->steady, "");
  }
  using Masks = std::vector<std::pair<std::string, bool>>;
  EXPECT_EQ(masks, (Masks{{project + "/.env", true}, {project + "/ro/.env", false}}));
  EXPECT_TRUE(plan->keeping.empty());
  EXPECT_TRUE(plan->configs.empty());
}

TEST(Plan, OfHostsInTheRangeThatStandsForNamesIsRefused) {
  for (const char* rule : {"198.18.0.1", "198.19.255.0/24:443", "198.18.0.0/15"}) {
    Resolved request = resolved_preset("agent");
    request.policy.net.allow = {parse_host_rule(rule).value()};
    const auto plan =
        make_native_plan(*clamp(request, {}), made_up_facts(), made_up_user(), made_up_request());
    ASSERT_FALSE(plan) << rule;
    EXPECT_EQ(plan.error().kind, ErrorKind::Unsupported);
  }
}

TEST(Plan, OfRootMapsToAnOrdinaryIdAndUsesCgroupsAsWrittenDown) {
  HostFacts facts = made_up_facts();
  facts.cgroup = made_up_cgroup_v1();
  expect_golden("plan_workspace_root",
                planned(resolved_preset("workspace"), facts, made_up_root()));
}

TEST(Plan, OfARepositoryHoldsPinsMasksAndCopiesAsWrittenDown) {
  const std::string project = "/home/alex/project";
  HostFacts facts = made_up_facts();
  facts.cgroup = made_up_cgroup_v2();
  facts.masked = {{project + "/.env", FileKind::Regular, {64, 200}, "denied by .env"}};
  facts.held = {{project + "/.vscode", HoldKind::Editor, FileKind::Directory, {64, 201}}};
  GitDirectory git;
  git.path = project + "/.git";
  git.id = {64, 202};
  git.pinned = {{git.path, HoldKind::Git, FileKind::Directory, git.id}};
  git.held = {{git.path + "/hooks", HoldKind::Git, FileKind::Directory, {64, 203}}};
  git.configs = {{git.path + "/config", {64, 204}, "[core]\n\tbare = false\n"}};
  facts.git = {git};
  expect_golden("plan_workspace_git", planned(resolved_preset("workspace"), facts, made_up_user()));
}

TEST(Plan, OfTheWholeDiskWithTheHostsNetworkIsAsWrittenDown) {
  Resolved request = resolved_preset("strict");
  request.policy.net.mode = share_the_hosts_network();
  request.read = {made_up_grant("/", 2)};
  expect_golden("plan_whole_disk_open_network", planned(request, made_up_facts(), made_up_user()));
}

// Landlock is the second layer under every mount: where it allows more, there is one layer only.
TEST(Plan, LetsLandlockAllowWritingOnlyWhereAMountIsWritable) {
  for (const char* granted : {"/", "/home", "/home/alex", "/tmp", "/var", "/var/tmp"}) {
    for (const std::string_view preset : {"workspace", "build", "agent"}) {
      Resolved request = resolved_preset(preset);
      request.policy.net = {};
      request.read.push_back(made_up_grant(granted, 400));
      const Plan plan = planned(request, made_up_facts(), made_up_user());
      std::set<std::string> writable;
      for (const Op& operation : plan.build) {
        if (const auto* made = std::get_if<op::ScratchDirectory>(&operation)) {
          writable.insert(made->path);
        }
        const auto* bound = std::get_if<op::Bind>(&operation);
        if (bound != nullptr && bound->access == MountAccess::ReadWrite) {
          writable.insert(bound->path);
        }
        const auto* allowed = std::get_if<op::LandlockAllow>(&operation);
        if (allowed == nullptr || allowed->use != LandlockUse::ReadWrite) continue;
        EXPECT_TRUE(writable.contains(allowed->path))
            << preset << " with " << granted << ": " << describe(operation);
      }
      EXPECT_TRUE(writable.contains("/home/alex/project"));
    }
  }
}

TEST(Plan, IsRefusedWithoutLandlockUnlessACeilingAcceptsThat) {
  HostFacts facts = made_up_facts();
  facts.landlock_abi = 0;
  const Resolved request = resolved_preset("workspace");
  const auto refused =
      make_native_plan(*clamp(request, {}), facts, made_up_user(), made_up_request());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Unavailable);

  ResolvedCeiling ceiling;
  ceiling.ceiling.policy.require.accept_missing = {run_without(Layer::Landlock)};
  ceiling.read = request.read;
  ceiling.write = request.write;
  const auto accepted = make_native_plan(*clamp(request, std::vector{ceiling}), facts,
                                         made_up_user(), made_up_request());
  ASSERT_TRUE(accepted) << message(accepted.error());
  EXPECT_EQ(accepted->missing, std::vector{Layer::Landlock});
}

TEST(Plan, IsRefusedForAGrantOfDevicesOrProcesses) {
  for (const char* path : {"/proc/1", "/dev", "/dev/shm"}) {
    Resolved request = resolved_preset("workspace");
    request.read.push_back(made_up_grant(path, 300));
    const auto refused =
        make_native_plan(*clamp(request, {}), made_up_facts(), made_up_user(), made_up_request());
    ASSERT_FALSE(refused) << path;
    EXPECT_EQ(refused.error().kind, ErrorKind::Policy) << path;
  }
}

TEST(Plan, StartsInTheRootWhereTheDirectoryDoesNotExistInside) {
  PlanRequest request = made_up_request();
  request.cwd = "/mnt/elsewhere";
  const auto plan = make_native_plan(*clamp(resolved_preset("strict"), {}), made_up_facts(),
                                     made_up_user(), request);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->cwd, "/");
  ASSERT_EQ(plan->reductions.size(), 1U);
  EXPECT_EQ(plan->reductions.front().what, "cwd");
}

// What is held in the made-up project, planned with private copies.
Plan planned_with_copies(HostFacts facts, std::set<std::string> tracked = {}) {
  PlanRequest request = made_up_request();
  request.private_copies = true;
  request.private_directory = "/home/alex/.local/state/cordon/private/0123456789abcdef";
  request.tracked = std::move(tracked);
  auto plan =
      make_native_plan(*clamp(resolved_preset("workspace"), {}), facts, made_up_user(), request);
  EXPECT_TRUE(plan) << (plan ? "" : message(plan.error()));
  return plan ? std::move(*plan) : Plan{};
}

std::vector<std::string> steps_with(const Plan& plan, std::string_view word) {
  std::vector<std::string> found;
  for (const Op& operation : plan.build) {
    std::string text = describe(operation);
    if (text.find(word) != std::string::npos) found.push_back(std::move(text));
  }
  return found;
}

TEST(Plan, CoversWhatIsHeldByCopiesAndKeepsWhatGitReplaces) {
  HostFacts facts = made_up_facts();
  const std::string project = "/home/alex/project/";
  facts.held = {{project + ".mcp.json", HoldKind::Agent, FileKind::Regular, {1, 50}},
                {project + ".vscode", HoldKind::Editor, FileKind::Directory, {1, 51}},
                {project + "other", HoldKind::Denied, FileKind::Regular, {1, 52}},
                {project + "wt/.git", HoldKind::Git, FileKind::Regular, {1, 53}}};
  const Plan plan = planned_with_copies(facts, {project + ".mcp.json"});
  EXPECT_EQ(steps_with(plan, "private copy of"),
            (std::vector<std::string>{"private copy of " + project + ".vscode (editor)"}));
  EXPECT_EQ(steps_with(plan, "hold read-only").size(), 2U);
  ASSERT_EQ(plan.keeping.paths.size(), 1U);
  EXPECT_EQ(plan.keeping.paths.front().path, project + ".mcp.json");
  EXPECT_EQ(std::ranges::count(plan.lost, Loss::Protected), 1);
  // A submodule, whose `.git` git removes with it, but not where no copies are made at all.
  const Plan submodule = planned_with_copies(facts, {project + "wt/.git"});
  EXPECT_EQ(submodule.keeping.paths,
            (std::vector<KeptPath>{{project + "wt/.git", HoldKind::Git, KeptPath::Form::File}}));
  PlanRequest request = made_up_request();
  request.tracked = {project + "wt/.git"};
  const auto held =
      make_native_plan(*clamp(resolved_preset("workspace"), {}), facts, made_up_user(), request);
  ASSERT_TRUE(held);
  EXPECT_TRUE(held->keeping.empty());
}

TEST(Plan, BindsAProtectedLinkOverItselfAndKeepsOneThatGitTracks) {
  HostFacts facts = made_up_facts();
  const std::string link = "/home/alex/project/.vscode";
  facts.pinned = {{link, {1, 50}, HoldKind::Editor, FileKind::Other}};
  const Plan bound = planned_with_copies(facts);
  EXPECT_TRUE(bound.keeping.paths.empty());
  EXPECT_EQ(steps_with(bound, link).size(), 1U);
  const Plan kept = planned_with_copies(facts, {link});
  EXPECT_TRUE(steps_with(kept, link).empty());
  EXPECT_EQ(kept.keeping.paths,
            (std::vector<KeptPath>{{link, HoldKind::Editor, KeptPath::Form::File}}));
}

TEST(Plan, NeverCopiesADirectoryInWhichSomethingIsMasked) {
  HostFacts facts = made_up_facts();
  const std::string vscode = "/home/alex/project/.vscode";
  facts.held = {{vscode, HoldKind::Editor, FileKind::Directory, {1, 51}}};
  facts.masked = {{vscode + "/key", FileKind::Regular, {1, 60}, "deny"}};
  const Plan plan = planned_with_copies(facts);
  EXPECT_TRUE(steps_with(plan, "private copy of").empty());
  EXPECT_EQ(steps_with(plan, "hold read-only").size(), 1U);
}

}  // namespace
}  // namespace cordon
