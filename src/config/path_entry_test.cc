#include "config/section.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

TEST(PathEntry, TakesEverySpellingThatIsPromised) {
  for (const char* text :
       {"/", "/usr", "~", "~/x", "~/a.b/..c", "rel", "./@x", "../up", "@cwd", "@system",
        "@toolchains", "@caches", "@repo", "a~b", "**/*.pem", ".env"}) {
    EXPECT_TRUE(check_path_entry(text, PathUse::Read)) << text;
  }
  EXPECT_TRUE(check_path_entry("@cwd", PathUse::Write));
  EXPECT_TRUE(check_path_entry("/srv/..", PathUse::Read));
}

TEST(PathEntry, RefusesAPathTheKernelWouldCutOrRefuse) {
  const std::string name(255, 'n');
  EXPECT_TRUE(check_path_entry("/" + name, PathUse::Read));
  EXPECT_FALSE(check_path_entry("/n" + name, PathUse::Read));
  std::string longest;
  while (longest.size() < 4095) longest += "/n";
  longest.resize(4095);
  EXPECT_TRUE(check_path_entry(longest, PathUse::Read));
  EXPECT_FALSE(check_path_entry(longest + "n", PathUse::Read));
}

TEST(PathEntry, NamesALongPathWithoutPrintingAllOfIt) {
  const auto checked = check_path_entry("/" + std::string(5000, 'x'), PathUse::Read);
  ASSERT_FALSE(checked.has_value());
  EXPECT_EQ(checked.error().what,
            "path \"/" + std::string(63, 'x') + "...\" is longer than the kernel takes");
}

TEST(PathEntry, RefusesWritableSystemWords) {
  EXPECT_FALSE(check_path_entry("@system", PathUse::Write));
  EXPECT_FALSE(check_path_entry("@toolchains", PathUse::Write));
}

TEST(PathEntry, TakesNoGroupForASocket) {
  for (const char* text : {"@cwd", "@system", "@toolchains"}) {
    EXPECT_FALSE(check_path_entry(text, PathUse::Socket)) << text;
  }
  EXPECT_TRUE(check_path_entry("~/x.sock", PathUse::Socket));
  EXPECT_TRUE(check_path_entry("./@cwd", PathUse::Socket));
}

TEST(RootSpelling, TellsRootFromWhatLiesBelow) {
  EXPECT_TRUE(is_root_spelling("/"));
  EXPECT_TRUE(is_root_spelling("/.././/"));
  EXPECT_FALSE(is_root_spelling("/..."));
  EXPECT_FALSE(is_root_spelling("."));
  EXPECT_FALSE(is_root_spelling(""));
  EXPECT_FALSE(is_root_spelling("/a/.."));
}

}  // namespace
}  // namespace cordon
