#include "changes/written_tips.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "host/test_tree.h"

namespace cordon {
namespace {

const std::string kA(40, 'a');
const std::string kB(64, 'b');

class WrittenTipsTest : public ::testing::Test {
 protected:
  [[nodiscard]] WrittenTips read() const { return WrittenTips::read(state_); }
  void add(const std::set<std::string>& tips, const std::vector<UntoldRepository>& untold = {}) {
    const auto added = WrittenTips::add(state_, tips, untold);
    ASSERT_TRUE(added) << message(added.error());
  }
  testing::TestTree tree_;
  std::string state_ = tree_.at("state");
};

TEST_F(WrittenTipsTest, WithoutAFileNoRunWroteAnything) {
  EXPECT_EQ(read().problem(), "");
  EXPECT_FALSE(read().contains(kA));
}

TEST_F(WrittenTipsTest, RemembersWhatWasAddedOverTime) {
  add({kA});
  add({kB});
  EXPECT_EQ(read().problem(), "");
  EXPECT_TRUE(read().contains(kA));
  EXPECT_TRUE(read().contains(kB));
  EXPECT_FALSE(read().contains(std::string(40, 'c')));
}

TEST_F(WrittenTipsTest, ARepositoryThatCannotBeToldIsKnownByPathAndByIdentity) {
  const UntoldRepository one{"/home/u/a\nb\\c/.git", {7, 8}};
  add({}, {one});
  add({}, {one});
  EXPECT_EQ(read().problem(), "");
  EXPECT_TRUE(read().is_untold("/home/u/a\nb\\c/.git", {1, 1}));
  EXPECT_TRUE(read().is_untold("/elsewhere/.git", {7, 8}));
  EXPECT_FALSE(read().is_untold("/elsewhere/.git", {7, 9}));
  const std::string text = tree_.read("state/written-tips");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST_F(WrittenTipsTest, ALineThatWasCutOffIsWrittenAgainByItsRun) {
  add({kA});
  tree_.file("state/written-tips", kA + "\n" + kB.substr(0, 40));
  EXPECT_EQ(read().problem(), "");
  EXPECT_FALSE(read().contains(kB.substr(0, 40)));
  add({kB});
  EXPECT_EQ(tree_.read("state/written-tips"), kA + "\n" + kB + "\n");
}

TEST_F(WrittenTipsTest, WhatCannotBeReadIsTrustedByNobody) {
  add({kA});
  tree_.file("state/written-tips", kA + "\njunk\n");
  EXPECT_NE(read().problem(), "");
  std::filesystem::resize_file(tree_.at("state/written-tips"), 65U << 20U);
  EXPECT_NE(read().problem(), "");
  add({kB});
  std::filesystem::remove(tree_.at("state/written-tips"));
  tree_.link("state/written-tips", "/dev/null");
  EXPECT_NE(read().problem(), "");
  EXPECT_FALSE(WrittenTips::add(state_, {kA}, {}));
}

}  // namespace
}  // namespace cordon
