#include "policy/cure.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

Grant grant(std::string path, Grant::Source source = Grant::Source::Policy) {
  Grant made;
  made.written = path;
  made.lexical = path;
  made.path = std::move(path);
  made.source = source;
  return made;
}

TEST(PathModes, LetTheLongestRuleDecide) {
  const std::vector read{grant("/a/b"), grant("/r")};
  const std::vector write{grant("/a"), grant("/a/b/c"), grant("/r/w")};
  const PathModes modes(read, write);
  EXPECT_EQ(modes.at("/a/x"), PathMode::Write);
  EXPECT_EQ(modes.at("/a/b/x"), PathMode::Read);
  EXPECT_EQ(modes.at("/a/b/c/x"), PathMode::Write);
  EXPECT_EQ(modes.at("/r/w/x"), PathMode::Write);
  EXPECT_EQ(modes.at("/ab"), PathMode::None);
  EXPECT_EQ(modes.at("/"), PathMode::None);
}

TEST(PathModes, ReadWinsBetweenEquals) {
  const std::vector read{grant("/a")};
  const std::vector write{grant("/a")};
  const PathModes modes(read, write);
  EXPECT_EQ(modes.at("/a"), PathMode::Read);
  ASSERT_EQ(modes.conflicts().size(), 1U);
  EXPECT_EQ(modes.conflicts().front(), &write.front());
}

TEST(PathModes, BaselineEntriesYieldToWhateverCoversThem) {
  const std::vector read{grant("/p/tool", Grant::Source::Toolchain),
                         grant("/usr", Grant::Source::System),
                         grant("/usr/lib", Grant::Source::System)};
  const std::vector write{grant("/p")};
  const PathModes modes(read, write);
  EXPECT_EQ(modes.at("/p/tool"), PathMode::Write);
  EXPECT_EQ(modes.at("/usr/lib"), PathMode::Read);
  EXPECT_EQ(modes.entries().size(), 2U);
}

}  // namespace
}  // namespace cordon
