#include "faces/mcp/inside/gitignore.h"

#include <gtest/gtest.h>

namespace cordon::mcp {
namespace {

TEST(IgnoreRules, ReadLinesAsGitDoes) {
  IgnoreRules rules;
  rules.add("",
            "# none\n\n*.o\n!keep.o\n/top\nbuild/\na/b\nx/**\n**/deep\n\\#odd\n\\!odd\nblank\\ "
            "\nend  \n");
  for (const char* path : {"m.o", "src/m.o", "top", "a/b", "x/y", "x/y/z", "deep", "q/r/deep",
                           "#odd", "!odd", "blank ", "end"}) {
    EXPECT_TRUE(rules.ignores(path, false)) << path;
  }
  for (const char* path : {"keep.o", "src/keep.o", "sub/top", "build", "c/a/b", "x", "m.oo",
                           "blank", "end  ", "# none"}) {
    EXPECT_FALSE(rules.ignores(path, false)) << path;
  }
  EXPECT_TRUE(rules.ignores("build", true));
  EXPECT_TRUE(rules.ignores("src/build", true));
}

TEST(IgnoreRules, HoldBelowTheirOwnDirectoryAndTheLastDecides) {
  IgnoreRules rules;
  rules.add("", "*.log\n");
  const std::size_t before = rules.size();
  rules.add("src/", "!*.log\n/only\n");
  EXPECT_TRUE(rules.ignores("a.log", false));
  EXPECT_FALSE(rules.ignores("src/a.log", false));
  EXPECT_TRUE(rules.ignores("src/only", false));
  EXPECT_FALSE(rules.ignores("only", false));
  EXPECT_FALSE(rules.ignores("src/x/only", false));
  rules.shrink(before);
  EXPECT_TRUE(rules.ignores("src/a.log", false));
}

TEST(IgnoreRules, TakeEscapedCharactersForThemselves) {
  IgnoreRules rules;
  rules.add("", "\\*.c\n[ab]\\?\nend\\\n");
  EXPECT_TRUE(rules.ignores("*.c", false));
  EXPECT_FALSE(rules.ignores("m.c", false));
  EXPECT_TRUE(rules.ignores("a?", false));
  EXPECT_FALSE(rules.ignores("ab", false));
}

}  // namespace
}  // namespace cordon::mcp
