#include "faces/cli/flag_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>

namespace cordon {
namespace {

std::vector<const Verb*> everything() {
  std::vector<const Verb*> all{&top_level()};
  for (const Verb& verb : verbs()) all.push_back(&verb);
  return all;
}

TEST(FlagTable, NamesEachFlagOnceInAVerb) {
  for (const Verb* verb : everything()) {
    std::set<std::string_view> names;
    for (const FlagGroup& group : verb->groups) {
      for (const Flag& flag : group.flags) {
        EXPECT_TRUE(names.insert(flag.name).second) << verb->name << " " << flag.name;
      }
    }
  }
}

TEST(FlagTable, GivesEveryVerbBothHelps) {
  for (const Verb* verb : everything()) {
    EXPECT_NE(find_flag(*verb, "-h"), nullptr) << verb->name;
    EXPECT_NE(find_flag(*verb, "--help"), nullptr) << verb->name;
  }
}

TEST(FlagTable, GivesEveryVerbThreeExamplesThatCallIt) {
  for (const Verb* verb : everything()) {
    ASSERT_EQ(verb->examples.size(), 3U) << verb->name;
    for (const Example& example : verb->examples) {
      EXPECT_NE(example.command.find("cordon " + std::string(verb->name)), std::string_view::npos)
          << example.command;
    }
  }
}

TEST(FlagTable, SaysAFlagTakesAValueExactlyIfItHasAnArgument) {
  for (const Verb* verb : everything()) {
    for (const FlagGroup& group : verb->groups) {
      for (const Flag& flag : group.flags) {
        EXPECT_EQ(flag.kind == ValueKind::None, flag.argument.empty()) << flag.name;
        const bool chooses =
            flag.kind == ValueKind::Choice || flag.kind == ValueKind::OptionalChoice;
        EXPECT_EQ(chooses, !flag.choices.empty()) << flag.name;
        EXPECT_EQ(flag.kind == ValueKind::OptionalChoice, flag.argument.starts_with("[="))
            << flag.name;
      }
    }
  }
}

// The contract gives these names to two things each: what `mcp --http` listens on and what `run
// --http` permits, the file of `learn --out` and the directory of `export --out`, the languages of
// `policy convert --from --to` and the databases of `audit`, the program of `oci --runtime` and the
// three names of `run --runtime`.
constexpr std::array<std::string_view, 5> kNamesOfTwo{"--from", "--http", "--out", "--runtime",
                                                      "--to"};

TEST(FlagTable, OneFlagMeansTheSameInEveryVerb) {
  for (const Verb* one : everything()) {
    for (const Verb* other : everything()) {
      for (const FlagGroup& group : one->groups) {
        for (const Flag& flag : group.flags) {
          const Flag* same = find_flag(*other, flag.name);
          if (same == nullptr || std::ranges::find(kNamesOfTwo, flag.name) != kNamesOfTwo.end())
            continue;
          EXPECT_EQ(same->id, flag.id) << flag.name;
          EXPECT_EQ(same->kind, flag.kind) << flag.name;
        }
      }
    }
  }
}

TEST(FlagTable, HoldsTheFlagsOfTheContractOfRun) {
  const Verb* run = find_verb("run");
  ASSERT_NE(run, nullptr);
  for (const char* name :
       {"--policy",  "--ceiling", "--read",         "--write",   "--deny",    "--net",
        "--allow",   "--env",     "--cwd",          "--timeout", "--memory",  "--pids",
        "--cpus",    "--scratch", "--output-limit", "--backend", "--require", "--tty",
        "--dry-run", "--json",    "--report"}) {
    EXPECT_NE(find_flag(*run, name), nullptr) << name;
  }
}

TEST(FlagTable, HoldsNoVerbThatIsNotBuilt) {
  for (const char* name : {"doctor-inside", "file-inside"}) {
    EXPECT_EQ(find_verb(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace cordon
