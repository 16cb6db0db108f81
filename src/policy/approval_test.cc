#include "policy/approval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/path.h"
#include "policy/clamp.h"
#include "policy/net_rules.h"
#include "support/choices.h"
#include "support/grant.h"
#include "support/property.h"

namespace cordon {
namespace {

using testing::any_choices;
using testing::check_cases;
using testing::Choices;
using ::testing::ElementsAre;
using testing::grant;
using ::testing::IsEmpty;
using testing::paths;

HostRule host(std::string_view text) { return parse_host_rule(text).value(); }

PathMode mode_at(const ResolvedCeiling& ceiling, std::string_view path) {
  return PathModes(ceiling.read, ceiling.write).at(path);
}

TEST(AdmitPath, WidensByWhatTheOperatorLetBeAsked) {
  ResolvedCeiling ceiling;
  ceiling.write = {grant("/w")};
  const ResolvedAsk ask{{grant("/r")}, {grant("/x")}};
  admit_path(ceiling, ask, PathMode::Read, grant("/r/part"));
  admit_path(ceiling, ask, PathMode::Write, grant("/x/part"));
  EXPECT_THAT(paths(ceiling.read), ElementsAre("/r/part"));
  EXPECT_THAT(paths(ceiling.write), ElementsAre("/w", "/x/part"));
}

TEST(AdmitPath, TakesNothingThatAskDoesNotCover) {
  const ResolvedAsk ask{{grant("/r"), grant("/x/kept")}, {grant("/x")}};
  const auto refused = [&](PathMode wish, const std::string& path) {
    ResolvedCeiling ceiling;
    admit_path(ceiling, ask, wish, grant(path));
    return ceiling.read.empty() && ceiling.write.empty();
  };
  EXPECT_TRUE(refused(PathMode::Read, "/other"));
  EXPECT_TRUE(refused(PathMode::Read, "/"));
  EXPECT_TRUE(refused(PathMode::Read, "/rr"));
  EXPECT_TRUE(refused(PathMode::Write, "/r"));
  EXPECT_TRUE(refused(PathMode::Write, "/x/kept/below"));
  // All of it could be asked for but a part: the whole cannot.
  EXPECT_TRUE(refused(PathMode::Write, "/x"));
  EXPECT_FALSE(refused(PathMode::Read, "/x"));
  EXPECT_FALSE(refused(PathMode::Write, "/x/other"));
}

TEST(AdmitPath, ReplacesAReadRuleForTheSamePath) {
  ResolvedCeiling ceiling;
  ceiling.read = {grant("/x"), grant("/x/kept")};
  admit_path(ceiling, {{}, {grant("/x")}}, PathMode::Write, grant("/x"));
  EXPECT_EQ(mode_at(ceiling, "/x/a"), PathMode::Write);
  EXPECT_EQ(mode_at(ceiling, "/x/kept/a"), PathMode::Read);
}

TEST(AdmitPath, NeverStepsRoundWhatIsHeldOrDenied) {
  const ResolvedAsk ask{{}, {grant("/w")}};
  ResolvedCeiling bare;
  bare.deny = {{"private", "", "private"}};
  bare.held = {{"/w/home"}, {"/w/tools/bin"}};
  for (const char* path : {"/w/.git/hooks", "/w/.git", "/w/.claude/commands", "/w/home/.ssh",
                           "/w/tools/bin", "/w/a/private", "/w/private/deep/below"}) {
    ResolvedCeiling ceiling = bare;
    admit_path(ceiling, ask, PathMode::Write, grant(path));
    EXPECT_THAT(ceiling.write, IsEmpty()) << path;
  }
  for (const char* path : {"/w/a/private", "/w/private/deep"}) {
    ResolvedCeiling ceiling = bare;
    admit_path(ceiling, ask, PathMode::Read, grant(path));
    EXPECT_THAT(ceiling.read, IsEmpty()) << path;
  }
  // Not even if [ask] names the very thing.
  ResolvedCeiling named = bare;
  admit_path(named, {{}, {grant("/p/.git/hooks")}}, PathMode::Write, grant("/p/.git/hooks"));
  admit_path(named, {{grant("/p/private")}, {}}, PathMode::Read, grant("/p/private"));
  EXPECT_THAT(named.read, IsEmpty());
  EXPECT_THAT(named.write, IsEmpty());
  ResolvedCeiling control = bare;
  admit_path(control, ask, PathMode::Write, grant("/w/a/public"));
  EXPECT_THAT(paths(control.write), ElementsAre("/w/a/public"));
}

TEST(AdmitHost, AddsAHostThatAskCovers) {
  Ceiling ceiling;
  ceiling.ask.net = {host("*.example.com:443")};
  for (const char* wrong : {"a.example.com", "a.example.com:80", "example.com:443",
                            "a.example.org:443", "*.com.example.com:1-65535"}) {
    admit_host(ceiling, host(wrong));
    EXPECT_EQ(ceiling.policy.net.mode, NetMode::None) << wrong;
  }
  admit_host(ceiling, host("a.example.com:443"));
  EXPECT_EQ(ceiling.policy.net.mode, NetMode::Allow);
  EXPECT_THAT(ceiling.policy.net.allow, ElementsAre(host("a.example.com:443")));
}

TEST(AdmitHost, LeavesACeilingThatIsOpenAsItIs) {
  Ceiling ceiling;
  ceiling.policy.net.mode = share_the_hosts_network();
  ceiling.ask.net = {host("a.example.com:443")};
  const Ceiling before = ceiling;
  admit_host(ceiling, host("a.example.com:443"));
  EXPECT_EQ(ceiling, before);
}

TEST(ApprovalsUsed, ListsWhatAPolicyReaches) {
  Approval read;
  read.id = "g-1";
  read.path = "/r";
  Approval net;
  net.id = "g-2";
  net.kind = Approval::Kind::Net;
  net.host = host("a.example.com:443");
  const std::vector<Approval> both{read, net, read};
  Effective effective;
  EXPECT_THAT(approvals_used(both, effective), IsEmpty());
  effective.read = {grant("/rr"), grant("/other")};
  EXPECT_THAT(approvals_used(both, effective), IsEmpty());
  effective.read.push_back(grant("/r/deep"));
  EXPECT_THAT(approvals_used(both, effective), ElementsAre("g-1"));
  effective.net.mode = NetMode::Allow;
  effective.net.allow = {host("*.example.com")};
  EXPECT_THAT(approvals_used(both, effective), ElementsAre("g-1", "g-2"));
}

// Properties, over an alphabet small enough for everything to overlap.

std::string any_path(Choices& choices) {
  std::string path;
  for (std::size_t depth = 1 + choices.below(3); depth > 0; --depth) {
    path += choices.one_in(2) ? "/b" : "/a";
  }
  return path;
}

std::vector<Grant> any_grants(Choices& choices) {
  std::vector<Grant> grants;
  for (std::size_t count = choices.below(4); count > 0; --count) {
    grants.push_back(grant(any_path(choices)));
  }
  return grants;
}

const std::vector<std::string>& all_paths() {
  static const std::vector<std::string> paths{
      "/",      "/a",     "/b",     "/a/a",   "/a/b",   "/b/a",   "/b/b", "/a/a/a",   "/a/a/b",
      "/a/b/a", "/a/b/b", "/b/a/a", "/b/a/b", "/b/b/a", "/b/b/b", "/ab",  "/a/a/a/z", "/b/b/b/z"};
  return paths;
}

struct Asked {
  ResolvedCeiling ceiling;
  ResolvedAsk ask;
};

Asked any_asked(Choices& choices) {
  Asked asked;
  asked.ceiling.read = any_grants(choices);
  asked.ceiling.write = any_grants(choices);
  asked.ask = {any_grants(choices), any_grants(choices)};
  return asked;
}

TEST(AdmitProperty, StaysWithinCeilingAndApprovedPartOfAsk) {
  check_cases(20'000, [] {
    Choices choices = any_choices();
    const Asked asked = any_asked(choices);
    const PathModes before(asked.ceiling.read, asked.ceiling.write);
    const PathModes ask(asked.ask.read, asked.ask.write);
    ResolvedCeiling widened = asked.ceiling;
    std::vector<std::pair<PathMode, std::string>> approved;
    for (std::size_t count = choices.below(3); count > 0; --count) {
      const PathMode wish = choices.one_in(2) ? PathMode::Write : PathMode::Read;
      approved.emplace_back(wish, any_path(choices));
      admit_path(widened, asked.ask, wish, grant(approved.back().second));
    }
    for (const std::string& path : all_paths()) {
      PathMode bound = before.at(path);
      for (const auto& [wish, place] : approved) {
        if (contains(place, path)) bound = std::max(bound, std::min(wish, ask.at(path)));
      }
      RC_ASSERT(mode_at(widened, path) <= bound);
      RC_ASSERT(mode_at(widened, path) >= before.at(path));
    }
    // And the clamp stays within that, and within what was asked for.
    Resolved request;
    request.read = any_grants(choices);
    request.write = any_grants(choices);
    const Clamped clamped = *clamp(request, std::span(&widened, 1));
    const PathModes got(clamped.effective().read, clamped.effective().write);
    const PathModes wanted(request.read, request.write);
    for (const std::string& path : all_paths()) {
      RC_ASSERT(got.at(path) <= mode_at(widened, path));
      RC_ASSERT(got.at(path) <= wanted.at(path));
    }
  });
}

TEST(AdmitProperty, AnyCeilingWithoutTheEntryWins) {
  check_cases(10'000, [] {
    Choices choices = any_choices();
    const Asked asked = any_asked(choices);
    std::vector<ResolvedCeiling> stack{asked.ceiling, ResolvedCeiling{}};
    stack.back().read = any_grants(choices);
    stack.back().write = any_grants(choices);
    const ResolvedCeiling second = stack.back();
    const Grant place = grant(any_path(choices));
    admit_path(stack.front(), asked.ask, PathMode::Write, place);
    admit_path(stack.back(), {}, PathMode::Write, place);
    Resolved request;
    request.write = {place};
    const Clamped clamped = *clamp(request, stack);
    const PathModes got(clamped.effective().read, clamped.effective().write);
    for (const std::string& path : all_paths()) RC_ASSERT(got.at(path) <= mode_at(second, path));
  });
}

}  // namespace
}  // namespace cordon
