#include "policy/refusal.h"

#include <gmock/gmock.h>

#include "policy/clamp.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Grant grant(const std::string& path, Origin origin = Origin::Document) {
  return {path, path, path, Grant::Source::Policy, FileKind::Directory, {1, 1}, origin};
}

Grant cwd(const std::string& path) {
  Grant made = grant(path);
  made.written = "@cwd";
  return made;
}

ResolvedCeiling ceiling(const std::vector<std::string>& read, const std::vector<std::string>& write,
                        const std::string& file = "/c/ceiling.toml") {
  ResolvedCeiling made;
  made.ceiling.id = made.ceiling.policy.file = file;
  for (const std::string& path : read) {
    made.read.push_back(grant(path));
    made.ceiling.policy.fs.read.push_back({path, {}});
  }
  for (const std::string& path : write) {
    made.write.push_back(grant(path));
    made.ceiling.policy.fs.write.push_back({path, {}});
  }
  return made;
}

Resolved workspace(const std::string& path) {
  Resolved request;
  request.policy.name = "workspace";
  request.write = {cwd(path)};
  request.start = path;
  return request;
}

Error refused(const Resolved& request, const std::vector<ResolvedCeiling>& ceilings) {
  const auto clamped = clamp(request, ceilings);
  EXPECT_FALSE(clamped.has_value());
  return clamped ? Error{} : clamped.error();
}

TEST(Refusal, NamesTheCeilingThatTakesTheWorkingDirectoryAndTheLineToAdd) {
  const Error error = refused(workspace("/p"), {ceiling({"/r"}, {"/srv"})});
  EXPECT_EQ(error.kind, ErrorKind::Policy);
  EXPECT_EQ(error.exit_status, 125);
  EXPECT_EQ(error.what,
            "the working directory /p, which workspace asks to write, is outside what is granted: "
            "the ceiling /c/ceiling.toml does not cover it");
  EXPECT_EQ(error.hint, "below [fs] in /c/ceiling.toml: write = [\"/srv\", \"/p\"]");
}

TEST(Refusal, NamesEveryCeilingThatDoesNotCoverTheWorkingDirectory) {
  ResolvedCeiling environment = ceiling({}, {"/srv"}, "");
  environment.ceiling.id = "environment";
  const Error error =
      refused(workspace("/p"), {ceiling({}, {}), ceiling({}, {"/p"}, "/c/covers.toml"),
                                ceiling({}, {"/q"}, "/c/two.json"), environment});
  EXPECT_THAT(error.what, HasSubstr("the ceiling /c/ceiling.toml and the ceiling /c/two.json and "
                                    "the ceiling of the environment"));
  EXPECT_EQ(error.hint,
            "below [fs] in /c/ceiling.toml: write = [\"/p\"]; in \"fs\" of /c/two.json: \"write\": "
            "[\"/q\", \"/p\"]; set CORDON_SANDBOX_READWRITE_PATHS=/srv:/p");
}

TEST(Refusal, AWorkingDirectoryOfWhichSomethingIsLeftIsReduced) {
  for (const auto& bound : {ceiling({"/p"}, {}), ceiling({}, {"/p/src"}), ceiling({"/"}, {})}) {
    const auto clamped = clamp(workspace("/p"), std::span(&bound, 1));
    ASSERT_TRUE(clamped) << clamped.error().what;
    EXPECT_EQ(clamped->reductions().size(), 1U);
  }
  Resolved writable = workspace("/p");
  writable.keep = Keep::Writable;
  const Error error = refused(writable, {ceiling({"/p"}, {})});
  EXPECT_THAT(error.what, HasSubstr("the ceiling /c/ceiling.toml does not let it be written"));
  // Of two rules for one path the stricter holds, so the old one goes.
  EXPECT_EQ(error.hint, "below [fs] in /c/ceiling.toml: read = [] and write = [\"/p\"]");
}

TEST(Refusal, NothingIsStartedMeansNothingIsRefused) {
  Resolved request = workspace("/p");
  request.start.clear();
  const ResolvedCeiling bound = ceiling({}, {"/q"});
  EXPECT_TRUE(clamp(request, std::span(&bound, 1)));
  // Nobody asked for the place.
  request = {};
  request.start = "/p";
  EXPECT_TRUE(clamp(request, std::span(&bound, 1)));
}

TEST(Refusal, AWiderRuleAsksForTheWorkingDirectoryToo) {
  Resolved request;
  request.policy.name = "settings.json";
  request.read = {grant("/")};
  request.start = "/p/q";
  EXPECT_EQ(refused(request, {ceiling({"/r"}, {})}).hint,
            "below [fs] in /c/ceiling.toml: read = [\"/r\", \"/p/q\"]");
  // It starts elsewhere, and what it did not name as its own may go.
  request.start = "/r/s";
  const ResolvedCeiling bound = ceiling({"/r"}, {});
  EXPECT_TRUE(clamp(request, std::span(&bound, 1)));
}

TEST(Refusal, AnOptionIsNotReduced) {
  Resolved request;
  request.write = {grant("/d", Origin::Option)};
  const Error error = refused(request, {ceiling({}, {"/p"})});
  EXPECT_EQ(error.what,
            "--write /d is outside what is granted: the ceiling /c/ceiling.toml does not let all "
            "of it be written");
  EXPECT_EQ(error.hint,
            "leave the option out, or below [fs] in /c/ceiling.toml: write = [\"/p\", \"/d\"]");
  request.write = {grant("/d")};
  const ResolvedCeiling bound = ceiling({}, {"/p"});
  ASSERT_TRUE(clamp(request, std::span(&bound, 1)));
}

TEST(Refusal, AnOptionIsRefusedForAHoleInIt) {
  Resolved request;
  request.write = {grant("/d", Origin::Option)};
  EXPECT_EQ(refused(request, {ceiling({"/r", "/d/vendor"}, {"/d"})}).hint,
            "leave the option out, or below [fs] in /c/ceiling.toml: read = [\"/r\"]");
  // The request itself says that it only reads there.
  request.read = {grant("/d/vendor")};
  const ResolvedCeiling bound = ceiling({"/r", "/d/vendor"}, {"/d"});
  EXPECT_TRUE(clamp(request, std::span(&bound, 1)));
}

TEST(Refusal, ThatADocumentAsksForTheSameDoesNotHideTheOption) {
  Resolved request = workspace("/p");
  Grant option = grant("/p", Origin::Option);
  option.written = ".";
  request.write.push_back(option);
  EXPECT_THAT(refused(request, {ceiling({"/p"}, {})}).what, HasSubstr("--write . is outside"));
}

HostRule numbered_host(const std::string& letter, int number) {
  return *parse_host_rule(letter + std::to_string(number) + ".test:443");
}

// Each refusal goes through all options and every rule of the ceiling, and told with the whole list
// it would be as long: ten thousand of them have to be refused as quickly as twenty.
TEST(Refusal, TellsAFewOfManyHostsAndNotTheWholeCeiling) {
  constexpr int kMany = 10'000;
  ResolvedCeiling most = ceiling({}, {"/p"});
  most.ceiling.policy.net.mode = NetMode::Allow;
  Resolved request = workspace("/p");
  for (int i = 0; i < kMany; ++i) {
    most.ceiling.policy.net.allow.push_back(numbered_host("c", i));
    request.policy.net.allow_host(numbered_host("o", i));
    request.policy.options.allow.push_back(numbered_host("o", i));
  }
  const Error error = refused(request, {most});
  EXPECT_EQ(error.what,
            "--allow o0.test:443 is outside what is granted: the ceiling /c/ceiling.toml does not "
            "cover it");
  EXPECT_EQ(error.hint,
            "leave the option out, or add \"o0.test:443\" to allow below [net] in "
            "/c/ceiling.toml");
  ASSERT_EQ(error.notes.size(), 20U);
  EXPECT_EQ(error.notes.back(), "and 9980 more options cannot be granted");
  for (const std::string& note : error.notes) EXPECT_LT(note.size(), 300U);
  // A short list is told as a line that replaces the old one.
  most.ceiling.policy.net.allow.resize(2);
  EXPECT_THAT(refused(request, {most}).hint,
              HasSubstr("below [net] in /c/ceiling.toml: allow = [\"c0.test:443\", "
                        "\"c1.test:443\", \"o0.test:443\"]"));
  most.ceiling.id = "/c/ceiling.json";
  most.ceiling.policy.net.allow.resize(17, numbered_host("c", 1));
  EXPECT_THAT(refused(request, {most}).hint,
              HasSubstr("add \"o0.test:443\" to \"allow\" in \"net\" of /c/ceiling.json"));
}

TEST(Refusal, AnOptionThatARuleForReadingOverrulesIsRefused) {
  Resolved request;
  request.policy.name = "readonly";
  request.read = {cwd("/p")};
  request.write = {grant("/p", Origin::Option)};
  EXPECT_THAT(refused(request, {}).what, HasSubstr("--write /p contradicts a rule of readonly"));
  // The other way round nothing that an option asked for is missing.
  request.read = {grant("/p", Origin::Option)};
  request.write = {cwd("/p")};
  EXPECT_TRUE(clamp(request, {}));
}

TEST(Refusal, SaysWhyAnOptionForAProtectedNameIsRefused) {
  Resolved request;
  request.write = {grant("/p/.vscode", Origin::Option)};
  const Error error = refused(request, {});
  EXPECT_THAT(error.what, HasSubstr("--write /p/.vscode cannot be granted: "));
  EXPECT_THAT(error.what, HasSubstr("never more than readable"));
  // What lies in it is reached by no grant either.
  request.write = {grant("/p/.claude/commands", Origin::Option)};
  EXPECT_THAT(refused(request, {}).what,
              HasSubstr("--write /p/.claude/commands lies in .claude and cannot be granted"));
  request.write = {grant("/p/.claude/worktrees/w/src", Origin::Option)};
  EXPECT_TRUE(clamp(request, {})) << "a project of its own";
  request.held.homes = {"/h"};
  request.write = {grant("/h/bin/project", Origin::Option)};
  EXPECT_TRUE(clamp(request, {})) << "programs are looked for in /h/bin alone";
  request.held.homes = {};
  // A directory of PATH is the operator's choice, if he names it.
  ResolvedCeiling bound = ceiling({}, {"/h"});
  bound.held.on_path = {"/h/bin"};
  request.write = {grant("/h/bin", Origin::Option)};
  EXPECT_EQ(refused(request, {bound}).hint,
            "leave the option out, or below [fs] in /c/ceiling.toml: write = [\"/h\", \"/h/bin\"]");
  bound.write.push_back(grant("/h/bin"));
  EXPECT_TRUE(clamp(request, std::span(&bound, 1)));
}

TEST(Refusal, OptionsForTheNetwork) {
  const HostRule host = *parse_host_rule("a.example:443");
  Resolved request;
  request.policy.net = {NetMode::Allow, {host}, {}};
  request.policy.options.allow = {host};
  ResolvedCeiling bound = ceiling({}, {});
  const std::string below = "leave the option out, or below [net] in /c/ceiling.toml: ";
  EXPECT_EQ(refused(request, {bound}).hint,
            below + "mode = \"allow\" and allow = [\"a.example:443\"]");
  bound.ceiling.policy.net = {NetMode::Allow, {*parse_host_rule("b.example")}, {}};
  EXPECT_EQ(refused(request, {bound}).hint, below + "allow = [\"b.example\", \"a.example:443\"]");
  bound.ceiling.policy.net.allow.push_back(host);
  EXPECT_TRUE(clamp(request, std::span(&bound, 1)));
  bound.ceiling.policy.net.deny = {*parse_host_rule("a.example")};
  EXPECT_EQ(refused(request, {bound}).what,
            "--allow a.example:443 is denied by the ceiling /c/ceiling.toml");
  bound.ceiling.policy.net.deny.clear();

  request.policy.net = {share_the_hosts_network(), {}, {}};
  request.policy.options = {};
  EXPECT_TRUE(clamp(request, std::span(&bound, 1)));
  request.policy.options.net = true;
  const Error error = refused(request, {bound});
  EXPECT_EQ(error.what, "--net open is more than the ceiling /c/ceiling.toml permits");
  EXPECT_EQ(error.hint, below + "mode = \"open\", without allow");
  bound.ceiling.policy.net = {share_the_hosts_network(), {}, {}};
  EXPECT_TRUE(clamp(request, std::span(&bound, 1)));
}

TEST(Refusal, OptionsForVariablesAndLimits) {
  Resolved request;
  request.policy.env.pass = {"A", "B"};
  request.policy.options.env = {"B"};
  request.policy.limits.memory = 8ULL << 30U;
  request.policy.limits.pids = 100;
  request.policy.limits.wall_ms = 60'000;
  request.policy.options.limits = {"memory", "pids"};
  request.policy.fs.scratch = 2ULL << 30U;
  request.policy.options.scratch = true;
  ResolvedCeiling bound = ceiling({}, {});
  bound.ceiling.bounds_env = true;
  bound.ceiling.policy.limits.memory = 1ULL << 30U;
  bound.ceiling.policy.limits.pids = 50;
  bound.ceiling.policy.limits.wall_ms = 1'000;
  bound.ceiling.policy.fs.scratch = 1ULL << 30U;
  const Error error = refused(request, {bound});
  EXPECT_EQ(error.what,
            "--scratch 2G is more than the 1G that the ceiling /c/ceiling.toml permits");
  EXPECT_EQ(error.hint, "ask for at most 1G, or below [fs] in /c/ceiling.toml: scratch = \"2G\"");
  EXPECT_THAT(
      error.notes,
      ElementsAre(
          "--env B is outside what is granted: the ceiling /c/ceiling.toml does not name it; leave "
          "the option out, or below [env] in /c/ceiling.toml: pass = [\"B\"]",
          "--memory 8G is more than the 1G that the ceiling /c/ceiling.toml permits; ask for at "
          "most 1G, or below [limits] in /c/ceiling.toml: memory = \"8G\"",
          "--pids 100 is more than the 50 that the ceiling /c/ceiling.toml permits; ask for at "
          "most "
          "50, or below [limits] in /c/ceiling.toml: pids = 100"));
  request.policy.options = {};
  const auto clamped = clamp(request, std::span(&bound, 1));
  ASSERT_TRUE(clamped);
  EXPECT_EQ(clamped->effective().limits.wall_ms, 1'000U);
}

TEST(Refusal, WhatResolvingDroppedIsRefusedForAnOptionAlone) {
  Resolved request;
  request.reductions = {
      {"read", "/absent", std::nullopt, Reduction::Because::Nonexistent, Origin::Document}};
  EXPECT_TRUE(clamp(request, {}));
  request.reductions.front().origin = Origin::Option;
  EXPECT_EQ(refused(request, {}).what,
            "--read /absent names nothing that is there, so it cannot be granted");
}

TEST(Refusal, OfAPlanConcernsOptionsAlone) {
  std::vector<Reduction> reductions{
      {"cwd", "/p", "/", Reduction::Because::Nonexistent, Origin::Document},
      {"read", "/k", std::nullopt, Reduction::Because::Forbidden, Origin::Document}};
  EXPECT_FALSE(refusal_of_planned(reductions));
  for (Reduction& reduction : reductions) reduction.origin = Origin::Option;
  const auto error = refusal_of_planned(reductions);
  ASSERT_TRUE(error);
  EXPECT_THAT(error->what, HasSubstr("--cwd /p is outside what is granted"));
  EXPECT_THAT(error->notes, ElementsAre(HasSubstr("--read /k is denied")));
}

}  // namespace
}  // namespace cordon
