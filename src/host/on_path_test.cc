#include "host/writable.h"

#include <gtest/gtest.h>

#include "host/test_tree.h"

namespace cordon {
namespace {

class OnPath : public ::testing::Test {
 protected:
  std::string program(const std::string& path, mode_t mode = 0755) {
    std::string made = tree_.file(path, "#!/bin/sh\n");
    EXPECT_EQ(::chmod(made.c_str(), mode), 0);
    return made;
  }
  [[nodiscard]] Caller searching(const std::string& path) const {
    Caller caller = tree_.caller();
    caller.environment["PATH"] = path;
    return caller;
  }
  testing::TestTree tree_;
};

TEST_F(OnPath, TakesTheFirstDirectoryThatHasIt) {
  const std::string first = program("a/tool");
  program("b/tool");
  EXPECT_EQ(
      on_path("tool", searching(tree_.at("none") + ":" + tree_.at("a") + ":" + tree_.at("b"))),
      first);
}

TEST_F(OnPath, PassesOverWhatIsNoProgram) {
  program("a/tool", 0644);
  tree_.directory("b/tool");
  tree_.directory("c");
  tree_.link("c/tool", "nowhere");
  const std::string last = program("d/tool");
  EXPECT_EQ(on_path("tool", searching(tree_.at("a") + ":" + tree_.at("b") + ":" + tree_.at("c") +
                                      ":" + tree_.at("d"))),
            last);
}

// A relative directory would make the answer depend on where a project put its files.
TEST_F(OnPath, RelativeDirectoriesAreNotSearched) {
  program("home/project/tool");
  ASSERT_EQ(::chdir(tree_.at("home/project").c_str()), 0);
  EXPECT_EQ(on_path("tool", searching(".::")), "");
  EXPECT_EQ(::chdir("/"), 0);
  Caller caller = tree_.caller();
  caller.environment.erase("PATH");
  EXPECT_EQ(on_path("tool", caller), "");
}

TEST_F(OnPath, FindsAgentsByNameWithoutStartingThem) {
  const std::string claude = program("bin/claude");
  const std::string codex = program("bin/codex");
  tree_.file("bin/claude", "#!/bin/sh\ntouch '" + tree_.at("started") + "'\n");
  program("bin/claudette");
  const std::vector<FoundAgent> expected{{"claude", claude}, {"codex", codex}};
  EXPECT_EQ(find_agents(searching(tree_.at("bin"))), expected);
  EXPECT_FALSE(tree_.exists("started"));
}

}  // namespace
}  // namespace cordon
