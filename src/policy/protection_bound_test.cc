#include "policy/protected_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/path.h"
#include "policy/clamp.h"
#include "support/grant.h"
#include "support/property.h"

namespace cordon {
namespace {

using testing::grant;
using testing::paths;

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Because = Reduction::Because;

class ProtectionBoundTest : public ::testing::Test {
 protected:
  ProtectionBoundTest() {
    ceiling.write = {grant("/w")};
    ceiling.deny = {{"private", "", "private"}};
    ceiling.held = {{"/w/home"}, {"/w/tools/bin"}};
    request.held.homes = {"/w/home"};
  }

  Clamped clamp_write(const std::string& path) {
    request.write = {grant(path)};
    return *clamp(request, std::span(&ceiling, 1));
  }
  Clamped clamp_read(const std::string& path) {
    request.read = {grant(path)};
    return *clamp(request, std::span(&ceiling, 1));
  }

  ResolvedCeiling ceiling;
  Resolved request;
};

TEST_F(ProtectionBoundTest, LeavesARequestBelowAProtectedNameReadOnly) {
  for (const char* path :
       {"/w/.claude/commands", "/w/a/.vscode", "/w/.git/hooks", "/w/.git", "/w/a/.git/modules/m",
        "/w/home/.ssh/keys", "/w/home/bin", "/w/tools/bin", "/w/tools/bin/x", "/w/.CLAUDE/x"}) {
    const Clamped clamped = clamp_write(path);
    EXPECT_THAT(clamped.effective().write, IsEmpty()) << path;
    EXPECT_THAT(paths(clamped.effective().read), ElementsAre(path));
    EXPECT_THAT(clamped.reductions(),
                ElementsAre(Reduction{"write", path, "read-only", Because::Forbidden}));
  }
}

// Whatever the git directory is called. A work tree may lie in a bare repository.
TEST_F(ProtectionBoundTest, LeavesPartsOfAGitDirectoryReadOnly) {
  request.held.git = {"/w/store", "/w/store/modules/m"};
  for (const char* path : {"/w/store/hooks", "/w/store/hooks/x", "/w/store/rebase-merge",
                           "/w/store/modules", "/w/store/modules/m/hooks", "/w/store/config"}) {
    EXPECT_TRUE(is_in_git_part(path, request.held)) << path;
    EXPECT_THAT(clamp_write(path).effective().write, IsEmpty()) << path;
  }
  for (const char* path :
       {"/w/store", "/w/store/modules/m", "/w/store/main", "/w/store/main/hooks", "/w/hooks"}) {
    EXPECT_FALSE(is_in_git_part(path, request.held)) << path;
    EXPECT_THAT(paths(clamp_write(path).effective().write), ElementsAre(path));
  }
  request.held.git.clear();
  ceiling.held.git = {"/w/store"};
  EXPECT_THAT(clamp_write("/w/store/hooks").effective().write, IsEmpty());
}

TEST_F(ProtectionBoundTest, TakesTheNamesThatOperatorsAddAndRelease) {
  ceiling.ceiling.policy.protect = {{"deploy"}, {".vscode"}};
  ceiling.held.protect = ceiling.ceiling.policy.protect;
  EXPECT_THAT(clamp_write("/w/a/deploy").effective().write, IsEmpty());
  EXPECT_THAT(clamp_write("/w/a/deploy/x").effective().write, IsEmpty());
  EXPECT_THAT(paths(clamp_write("/w/a/.vscode").effective().write), ElementsAre("/w/a/.vscode"));
  EXPECT_THAT(clamp_write("/w/a/.claude").effective().write, IsEmpty());
}

TEST_F(ProtectionBoundTest, LeavesOtherRequestsAlone) {
  for (const char* path : {"/w", "/w/a", "/w/bin", "/w/a/.ssh", "/w/tools", "/w/.github/workflows",
                           "/w/node_modules/p/.vscode", "/w/claude"}) {
    const Clamped clamped = clamp_write(path);
    EXPECT_THAT(paths(clamped.effective().write), ElementsAre(path));
    EXPECT_THAT(clamped.reductions(), IsEmpty()) << path;
  }
}

TEST_F(ProtectionBoundTest, TakesAwayWhatLiesBelowADeniedName) {
  for (const char* path : {"/w/private", "/w/private/x", "/w/a/private/b/c"}) {
    const Clamped clamped = clamp_read(path);
    EXPECT_THAT(clamped.effective().read, IsEmpty()) << path;
    EXPECT_THAT(clamped.reductions(),
                ElementsAre(Reduction{"read", path, std::nullopt, Because::Forbidden}));
  }
  EXPECT_THAT(paths(clamp_read("/w/public/x").effective().read), ElementsAre("/w/public/x"));
}

TEST_F(ProtectionBoundTest, LetsTheOperatorNameWhatLiesBelow) {
  ceiling.write.push_back(grant("/w/.claude/worktrees"));
  EXPECT_THAT(paths(clamp_write("/w/.claude/worktrees/t").effective().write),
              ElementsAre("/w/.claude/worktrees/t"));
  EXPECT_THAT(clamp_write("/w/.claude/commands").effective().write, IsEmpty());
}

TEST_F(ProtectionBoundTest, NoGrantOpensAProtectedName) {
  request.write = {grant("/w/.vscode")};
  const Clamped clamped = *clamp(request, {});
  EXPECT_THAT(clamped.effective().write, IsEmpty());
  EXPECT_THAT(paths(clamped.effective().read), ElementsAre("/w/.vscode"));
  // A person without a ceiling may work in a tree that happens to lie in one.
  request.write = {grant("/w/.claude/worktrees/t")};
  EXPECT_THAT(paths(clamp(request, {})->effective().write), ElementsAre("/w/.claude/worktrees/t"));
}

TEST_F(ProtectionBoundTest, LetsTheGitDirectoryOfALinkedWorktreeBe) {
  request.write = {grant("/w/repo/.git/worktrees/t")};
  request.write.front().source = Grant::Source::GitDirectory;
  EXPECT_THAT(clamp(request, std::span(&ceiling, 1))->effective().write, ::testing::SizeIs(1));
  request.write = {grant("/w/.claude/repo/.git")};
  request.write.front().source = Grant::Source::GitDirectory;
  EXPECT_THAT(clamp(request, std::span(&ceiling, 1))->effective().write, IsEmpty());
}

// Without any ceiling: the person at the keyboard asks for it by name.
TEST_F(ProtectionBoundTest, NothingInAnAgentsOwnDirectoryIsWritable) {
  for (const char* path : {"/w/home/.codex", "/w/home/.codex/config.toml",
                           "/w/home/.claude/hooks/deep/x", "/w/home/.claude.json"}) {
    Resolved asked;
    asked.held = request.held;
    asked.write = {grant(path)};
    const Clamped clamped = *clamp(asked, {});
    EXPECT_THAT(clamped.effective().write, IsEmpty()) << path;
    EXPECT_THAT(paths(clamped.effective().read), ElementsAre(path));
    ASSERT_EQ(clamped.reductions().size(), 1U) << path;
    EXPECT_EQ(clamped.reductions().front().because, Because::Forbidden);
  }
  // A project's own, such as worktrees that an agent makes there, is not the agent's home.
  for (const char* path : {"/w/home/project/.claude/worktrees/a", "/w/home/.codexes/x"}) {
    Resolved asked;
    asked.held = request.held;
    asked.write = {grant(path)};
    EXPECT_THAT(paths(clamp(asked, {})->effective().write), ElementsAre(path));
  }
}

// What is left of a path's mode after what is held and denied below `root`.
PathMode left_below(const ResolvedCeiling& rules, std::string_view root, std::string_view path,
                    PathMode mode) {
  return std::min(mode, bound_of(protection_bound_below(rules, root, path, Grant::Source::Policy)));
}

// A run holds and masks from the outermost grant that covers a path.
PathMode left_in_run(const Effective& effective, const ResolvedCeiling& rules,
                     std::string_view path) {
  const PathModes modes(effective.read, effective.write);
  const PathEntry* outermost = nullptr;
  for (std::string_view place = path; place != "/"; place = parent(place)) {
    const auto found = modes.entries().find(place);
    if (found != modes.entries().end()) outermost = &found->second;
  }
  if (outermost == nullptr) return PathMode::None;
  return left_below(rules, outermost->grant->path, path, modes.at(path));
}

std::string any_path() {
  const auto parts = *rc::gen::container<std::vector<std::string>>(
      *rc::gen::inRange<std::size_t>(1, 5),
      rc::gen::elementOf(std::vector<std::string>{"a", ".claude", "x"}));
  std::string path = "/w";
  for (const std::string& part : parts) path.append("/").append(part);
  return path;
}

std::vector<Grant> any_grants() {
  std::vector<Grant> made;
  for (int count = *rc::gen::inRange(0, 4); count > 0; --count) made.push_back(grant(any_path()));
  return made;
}

TEST(ProtectionBoundProperty, NoRequestReachesWhatTheGrantOfItsCeilingHolds) {
  testing::check_cases(20'000, [] {
    ResolvedCeiling ceiling;
    ceiling.read = any_grants();
    ceiling.write = any_grants();
    ceiling.deny = {{"x", "", "x"}};
    Resolved request;
    request.read = any_grants();
    request.write = any_grants();
    const Clamped clamped = *clamp(request, std::span(&ceiling, 1));
    const PathModes bound(ceiling.read, ceiling.write);
    for (int probes = 0; probes < 8; ++probes) {
      const std::string path = any_path();
      const PathEntry* rule = bound.deepest(path);
      const PathMode most = rule == nullptr
                                ? PathMode::None
                                : left_below(ceiling, rule->grant->path, path, rule->mode);
      RC_ASSERT(left_in_run(clamped.effective(), ceiling, path) <= most);
    }
  });
}

}  // namespace
}  // namespace cordon
