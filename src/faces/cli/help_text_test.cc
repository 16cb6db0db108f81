#include "faces/cli/help_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "faces/cli/completion.h"

namespace cordon {
namespace {

using testing::HasSubstr;

std::vector<const Verb*> everything() {
  std::vector<const Verb*> all{&top_level()};
  for (const Verb& verb : verbs()) all.push_back(&verb);
  return all;
}

TEST(ShortHelp, FitsTheColumns) {
  for (const Verb* verb : everything()) {
    const std::string text = short_help(*verb);
    for (const std::string_view line : split(text, '\n')) EXPECT_LE(line.size(), 79U) << line;
  }
}

TEST(ShortHelp, HasOneLineForEachFlag) {
  for (const Verb* verb : everything()) {
    const std::string text = short_help(*verb);
    for (const FlagGroup& group : verb->groups) {
      for (const Flag& flag : group.flags) {
        std::size_t lines = 0;
        for (const std::string_view line : split(text, '\n')) {
          // A value that may be left out stands right behind the name.
          const bool optional = flag.kind == ValueKind::OptionalChoice;
          if (line.starts_with("  " + std::string(flag.name) + (optional ? "[=" : " "))) ++lines;
        }
        EXPECT_EQ(lines, 1U) << verb->name << " " << flag.name;
      }
    }
  }
}

TEST(LongHelp, EndsWithTheExamples) {
  for (const Verb* verb : everything()) {
    const std::string text = long_help(*verb);
    const std::size_t start = text.find("\nExamples:\n");
    ASSERT_NE(start, std::string::npos) << verb->name;
    for (const Example& example : verb->examples) {
      EXPECT_NE(text.find(example.command, start), std::string::npos) << example.command;
    }
  }
}

TEST(LongHelp, BreaksProseAtTheColumns) {
  for (const Verb* verb : everything()) {
    const std::string text = long_help(*verb);
    for (const std::string_view line : split(text, '\n')) {
      if (line.starts_with("  cordon ")) continue;  // an example is one line, to be copied
      EXPECT_LE(line.size(), 79U) << line;
    }
  }
}

TEST(ManualOptions, NameEveryFlag) {
  for (const Verb* verb : everything()) {
    const std::string text = manual_options(*verb);
    for (const FlagGroup& group : verb->groups) {
      for (const Flag& flag : group.flags) {
        EXPECT_THAT(text, HasSubstr("*" + std::string(flag.name) + "*"));
      }
    }
  }
}

TEST(Completions, NameEveryVerbAndFlag) {
  const std::string bash = bash_completion();
  const std::string zsh = zsh_completion();
  const std::string fish = fish_completion();
  for (const Verb& verb : verbs()) {
    const std::string_view last = verb.name.substr(verb.name.rfind(' ') + 1);
    EXPECT_THAT(bash, HasSubstr(std::string(last)));
    EXPECT_THAT(zsh, HasSubstr("'" + std::string(last) + ":"));
    EXPECT_THAT(fish, HasSubstr("-a " + std::string(last) + " "));
    for (const FlagGroup& group : verb.groups) {
      for (const Flag& flag : group.flags) {
        EXPECT_THAT(bash, HasSubstr(std::string(flag.name)));
        const bool optional = flag.kind == ValueKind::OptionalChoice;
        EXPECT_THAT(zsh, HasSubstr(std::string(flag.name) + (optional ? "=-[" : "[")));
        const bool is_long = flag.name.starts_with("--");
        EXPECT_THAT(fish, HasSubstr((is_long ? "-l " : "-s ") +
                                    std::string(flag.name.substr(is_long ? 2 : 1))));
      }
    }
  }
}

}  // namespace
}  // namespace cordon
