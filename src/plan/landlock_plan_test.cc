#include <gtest/gtest.h>

#include <algorithm>

#include "plan/keeping_plan.h"
#include "plan/made_up_host.h"
#include "support/missing_layers.h"

namespace cordon {
namespace {

using namespace testing;  // the made-up host

constexpr std::string_view kPrivate = "/home/alex/.local/state/cordon/private/0123456789abcdef";

struct Asked {
  Resolved request = resolved_preset("workspace");
  HostFacts facts = made_up_facts();
  Caller caller = made_up_user();
  std::vector<Layer> accept = {Layer::Namespaces};

  [[nodiscard]] Result<Plan> plan() const {
    ResolvedCeiling ceiling;
    ceiling.ceiling.policy.require.accept_missing = going_without(accept);
    ceiling.ceiling.policy.net.mode = share_the_hosts_network();
    ceiling.read = request.read;
    ceiling.write = request.write;
    PlanRequest made = made_up_request();
    made.private_directory = kPrivate;
    return make_landlock_plan(*clamp(request, std::vector{ceiling}), facts, caller, made);
  }
  [[nodiscard]] std::string refusal() const {
    const auto made = plan();
    return made ? "planned" : made.error().what;
  }
};

bool has(const std::vector<std::string>& variables, std::string_view variable) {
  return std::ranges::find(variables, variable) != variables.end();
}

std::vector<op::LandlockAllow> rules_of(const Plan& plan) {
  std::vector<op::LandlockAllow> rules;
  for (const Op& operation : plan.build) {
    if (const auto* rule = std::get_if<op::LandlockAllow>(&operation)) rules.push_back(*rule);
  }
  return rules;
}

TEST(LandlockPlan, BeginsWithTheScopeAndEntersNoNamespace) {
  const auto plan = Asked{}.plan();
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_TRUE(std::holds_alternative<op::ScopeProcesses>(plan->build.front()));
  for (const Op& operation : plan->build) {
    EXPECT_TRUE(std::holds_alternative<op::ScopeProcesses>(operation) ||
                std::holds_alternative<op::MakeDirectory>(operation) ||
                std::holds_alternative<op::MakeFile>(operation) ||
                std::holds_alternative<op::LandlockAllow>(operation))
        << describe(operation);
  }
  EXPECT_EQ(plan->missing, std::vector{Layer::Namespaces});
}

TEST(LandlockPlan, GrantsNothingAboveAGrant) {
  const auto plan = Asked{}.plan();
  ASSERT_TRUE(plan);
  for (const op::LandlockAllow& rule : rules_of(*plan)) {
    EXPECT_FALSE(rule.path == "/" || rule.path == "/etc" || rule.path == "/dev" ||
                 rule.path.starts_with("/proc") || rule.path == "/home/alex" || rule.path == "/tmp")
        << rule.path;
    if (rule.use == LandlockUse::ReadWrite) {
      EXPECT_TRUE(rule.path == "/home/alex/project" || rule.path.starts_with(kPrivate))
          << rule.path;
    }
  }
}

TEST(LandlockPlan, HoldsAGrantToTheObjectThatWasJudged) {
  const auto plan = Asked{}.plan();
  ASSERT_TRUE(plan);
  const auto rules = rules_of(*plan);
  const auto project = std::ranges::find(rules, "/home/alex/project", &op::LandlockAllow::path);
  ASSERT_NE(project, rules.end());
  EXPECT_EQ(project->id, (FileId{64, 100}));
}

TEST(LandlockPlan, LeadsHomeAndTemporaryFilesToPrivateDirectories) {
  const auto plan = Asked{}.plan();
  ASSERT_TRUE(plan);
  EXPECT_TRUE(has(plan->environment, "HOME=" + std::string(kPrivate) + "/home"));
  EXPECT_TRUE(has(plan->environment, "TMPDIR=" + std::string(kPrivate) + "/tmp"));
  Asked build;
  build.request = resolved_preset("build");
  const auto with_caches = build.plan();
  ASSERT_TRUE(with_caches) << with_caches.error().what;
  EXPECT_TRUE(has(with_caches->environment, "XDG_CACHE_HOME=" + made_up_request().cache_directory));
}

// Refused instead of absent, /etc/gitconfig would end every git.
TEST(LandlockPlan, GitLooksForNoSystemConfiguration) {
  const auto plan = Asked{}.plan();
  ASSERT_TRUE(plan);
  EXPECT_TRUE(has(plan->environment, "GIT_CONFIG_NOSYSTEM=1"));
  EXPECT_TRUE(has(plan->environment, "GIT_ATTR_NOSYSTEM=1"));
}

TEST(LandlockPlan, NeedsEveryCeilingToAcceptIt) {
  Asked asked;
  asked.accept = {};
  EXPECT_NE(asked.refusal().find("goes without namespaces"), std::string::npos);
  const auto without_ceiling =
      make_landlock_plan(*clamp(asked.request, {}), asked.facts, asked.caller, made_up_request());
  ASSERT_FALSE(without_ceiling);
  EXPECT_EQ(without_ceiling.error().kind, ErrorKind::Unsupported);
}

TEST(LandlockPlan, NeedsScopesAndAListener) {
  Asked asked;
  asked.facts.landlock_abi = 5;
  const auto old = asked.plan();
  ASSERT_FALSE(old);
  EXPECT_EQ(old.error().kind, ErrorKind::Unavailable);
  asked.facts.landlock_abi = 6;
  EXPECT_EQ(asked.refusal(), "planned");
  asked.facts.answers_calls = false;
  EXPECT_NE(asked.refusal(), "planned");
}

TEST(LandlockPlan, RefusesWhatWouldHaveToBeTakenOutOfAGrant) {
  const auto refusal = [](auto change) {
    Asked asked;
    change(asked.facts);
    return asked.refusal();
  };
  EXPECT_NE(
      refusal([](HostFacts& facts) {
        facts.masked.push_back({"/home/alex/project/.env", FileKind::Regular, {64, 7}, "deny"});
      }).find("cannot hide"),
      std::string::npos);
  EXPECT_NE(refusal([](HostFacts& facts) {
              facts.pinned.push_back({"/home/alex/project/way", {64, 9}});
            }).find("from being renamed"),
            std::string::npos);
  // Beside the grants nothing is in the way.
  EXPECT_EQ(
      refusal([](HostFacts& facts) {
        facts.masked.push_back({"/home/alex/.ssh", FileKind::Directory, {64, 11}, "credentials"});
      }),
      "planned");
}

TEST(LandlockPlan, SaysThatProtectedFilesAreKeptInsteadOfHeld) {
  Asked asked;
  const auto loses = [&] {
    const auto plan = asked.plan();
    EXPECT_TRUE(plan.has_value()) << (plan ? "" : plan.error().what);
    return plan && std::ranges::find(plan->lost, Loss::Protected) != plan->lost.end();
  };
  EXPECT_FALSE(loses());
  asked.facts.held.push_back(
      {"/home/alex/project/.mcp.json", HoldKind::Agent, FileKind::Regular, {64, 8}});
  EXPECT_TRUE(loses());
  asked.facts.held.clear();
  asked.facts.git.push_back({"/home/alex/project/.git", {64, 10}, {}, {}, {}});
  asked.facts.git.back().pinned.push_back(
      {"/home/alex/project/.git", HoldKind::Git, FileKind::Directory, {64, 10}});
  EXPECT_TRUE(loses());
}

// A directory that leads to nothing but protected files is found again by its identity; one that a
// policy goes by has to stay where it is.
TEST(LandlockPlan, LetsWaysToProtectedFilesAloneBeRenamed) {
  Asked asked;
  asked.facts.held.push_back(
      {"/home/alex/project/.venv/bin", HoldKind::Path, FileKind::Directory, {64, 8}});
  asked.facts.pinned.push_back({"/home/alex/project/.venv", {64, 9}});
  EXPECT_EQ(asked.refusal(), "planned");
  asked.caller.executable = "/home/alex/project/.venv/tools/cordon";
  EXPECT_NE(asked.refusal().find("from being renamed"), std::string::npos);
}

TEST(LandlockPlan, KeepsALinkUnderAProtectedNameUnlessAPolicyGoesByIt) {
  Asked asked;
  const std::string link = "/home/alex/project/.vscode";
  asked.facts.pinned.push_back({link, {64, 9}, HoldKind::Editor, FileKind::Other});
  const auto plan = asked.plan();
  ASSERT_TRUE(plan) << plan.error().what;
  EXPECT_EQ(plan->keeping.paths,
            (std::vector<KeptPath>{{link, HoldKind::Editor, KeptPath::Form::File}}));
  EXPECT_TRUE(plan->keeping.trace.empty());
  asked.caller.executable = link + "/cordon";
  EXPECT_NE(asked.refusal().find("from being renamed"), std::string::npos);
}

TEST(LandlockPlan, KeepsAProtectedFileThatAGrantWantsReadOnly) {
  Asked asked;
  asked.facts.held.push_back(
      {"/home/alex/project/.mcp.json", HoldKind::Agent, FileKind::Regular, {64, 8}});
  asked.request.read.push_back(made_up_grant("/home/alex/project/.mcp.json", 8));
  EXPECT_EQ(asked.refusal(), "planned");
}

TEST(LandlockPlan, KeepsWhatIsReadOnlyInsideAWritableGrant) {
  Asked asked;
  asked.request.read.push_back(made_up_grant("/home/alex/project/vendor", 102));
  const auto plan = asked.plan();
  ASSERT_TRUE(plan);
  EXPECT_NE(std::ranges::find(plan->lost, Loss::Protected), plan->lost.end());
  Effective effective;
  effective.write = {made_up_grant("/home/alex/project", 100)};
  effective.read = {made_up_grant("/home/alex/project/vendor", 102), made_up_grant("/usr/x", 103)};
  const Keeping keeping = keeping_for(effective, asked.facts);
  ASSERT_EQ(keeping.paths.size(), 1U);
  EXPECT_EQ(keeping.paths.front().path, "/home/alex/project/vendor");
  EXPECT_EQ(keeping.paths.front().kind, HoldKind::ReadOnly);
  effective.write.push_back(made_up_grant("/home/alex/project/vendor", 102));
  EXPECT_TRUE(keeping_for(effective, asked.facts).empty()) << "granted both ways it is writable";
}

TEST(LandlockPlan, ListsOfHostsAreHeldWithoutALoopback) {
  Asked asked;
  const auto loses = [&] {
    const auto plan = asked.plan();
    EXPECT_TRUE(plan);
    return plan && std::ranges::find(plan->lost, Loss::Loopback) != plan->lost.end();
  };
  EXPECT_TRUE(loses());
  asked.request.policy.net.mode = NetMode::Allow;
  EXPECT_TRUE(loses());
  const auto reads = [&](std::string_view path) {
    const auto rules = rules_of(*asked.plan());
    return std::ranges::find(rules, path, &op::LandlockAllow::path) != rules.end();
  };
  EXPECT_TRUE(reads("/etc/resolv.conf"));
  EXPECT_FALSE(reads("/etc/hosts")) << "names would pass by the rules for names";
  asked.request.policy.net.mode = share_the_hosts_network();
  EXPECT_FALSE(loses());
}

TEST(LandlockPlan, RefusesNetworksItHasNot) {
  Asked asked;
  asked.request.policy.net.mode = share_the_hosts_network();
  EXPECT_EQ(asked.refusal(), "planned");
  asked.request.policy.net.publish.push_back({8080, 8080});
  EXPECT_NE(asked.refusal(), "planned");
}

}  // namespace
}  // namespace cordon
