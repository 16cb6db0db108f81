#include "host/git/branch_tips.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/test_tree.h"

namespace cordon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

const std::string kA(40, 'a');
const std::string kB(40, 'b');
const std::string kC(40, 'c');

TEST(LooseRef, HoldsAnIdAndWhateverFollowsASpace) {
  EXPECT_EQ(parse_loose_ref(kA + "\n"), kA);
  EXPECT_EQ(parse_loose_ref(kA), kA);
  EXPECT_EQ(parse_loose_ref(kA + " more"), kA);
  EXPECT_EQ(parse_loose_ref(std::string(40, 'A') + "\n"), kA);
  EXPECT_EQ(parse_loose_ref(kA + std::string("\0more", 5)), kA);
  EXPECT_EQ(parse_loose_ref(std::string(64, 'b')), std::string(64, 'b'));
  EXPECT_EQ(parse_loose_ref("ref: refs/remotes/origin/main\n"), std::nullopt);
  EXPECT_EQ(parse_loose_ref(kA + "a\n"), std::nullopt);
  EXPECT_EQ(parse_loose_ref(" " + kA), std::nullopt);
  EXPECT_EQ(parse_loose_ref(""), std::nullopt);
}

TEST(PackedRefs, ListsEveryLineOfABranch) {
  std::vector<BranchTip> tips;
  EXPECT_TRUE(parse_packed_heads("# pack-refs with: peeled fully-peeled sorted \n" + kA +
                                     " refs/heads/main\n" + kB + " refs/remotes/origin/main\n" +
                                     kC + " refs/tags/v1\n^" + kB + "\n" + kB +
                                     " refs/heads/main\n",
                                 tips));
  // Which of two lines git takes depends on their order: both count.
  EXPECT_THAT(tips, ElementsAre(BranchTip{"main", kA, false}, BranchTip{"main", kB, false}));
}

TEST(PackedRefs, AreUntoldIfALineIsNotUnderstood) {
  for (const std::string& text :
       {kA + " refs/heads/main", kA + "\n", std::string("junk\n"), kA + "refs/heads/main\n",
        kA + " heads/main\n", "^" + kA + "x\n", std::string("\n")}) {
    std::vector<BranchTip> tips;
    EXPECT_FALSE(parse_packed_heads(text, tips)) << text;
  }
}

class BranchTipsTest : public ::testing::Test {
 protected:
  testing::TestTree tree_;
};

TEST_F(BranchTipsTest, ALooseFileHidesAPackedLineAndBothAreValues) {
  tree_.file("r/.git/packed-refs", kA + " refs/heads/main\n" + kC + " refs/heads/old\n");
  tree_.file("r/.git/refs/heads/main", kB + "\n");
  tree_.file("r/.git/refs/heads/topic/one", "ref: refs/remotes/origin/evil\n");
  tree_.file("r/.git/refs/remotes/origin/evil", std::string(40, 'e') + "\n");
  const BranchTips tips = read_branch_tips(tree_.at("r/.git"));
  EXPECT_TRUE(tips.told);
  EXPECT_THAT(tips.values(), UnorderedElementsAre(kA, kB, kC));
  EXPECT_THAT(tips.branches(),
              UnorderedElementsAre(BranchTip{"main", kB, true}, BranchTip{"old", kC, false}));
}

TEST_F(BranchTipsTest, ABrokenLooseFileHidesAPackedLineToo) {
  tree_.file("r/.git/packed-refs", kA + " refs/heads/main\n");
  tree_.file("r/.git/refs/heads/main", "junk\n");
  EXPECT_THAT(read_branch_tips(tree_.at("r/.git")).branches(), IsEmpty());
}

TEST_F(BranchTipsTest, FollowsNoLinkAndKnowsNoOtherForm) {
  tree_.file("elsewhere/heads/main", kA + "\n");
  tree_.directory("r/.git");
  tree_.link("r/.git/refs", tree_.at("elsewhere"));
  EXPECT_FALSE(read_branch_tips(tree_.at("r/.git")).told);
  tree_.file("s/.git/refs/heads/main", kA + "\n");
  tree_.link("s/.git/refs/heads/other", tree_.at("elsewhere/heads/main"));
  EXPECT_FALSE(read_branch_tips(tree_.at("s/.git")).told);
  tree_.file("t/.git/refs/heads/main", kA + "\n");
  tree_.directory("t/.git/reftable");
  EXPECT_FALSE(read_branch_tips(tree_.at("t/.git")).told);
  EXPECT_TRUE(read_branch_tips(tree_.at("gone/.git")).told);
}

TEST(RefName, FollowsTheRuleOfGit) {
  for (const char* name : {"refs/heads/main", "refs/heads/feature/x", "refs/tags/v1.0",
                           "refs/heads/@x", "refs/heads/a-b", "refs/heads/k\xc3\xa4se"}) {
    EXPECT_TRUE(is_ref_name(name)) << name;
  }
  for (const char* name : {"main",
                           "refs/remotes/origin/main",
                           "refs/heads/",
                           "refs/heads",
                           "refs/heads//x",
                           "refs/heads/x/",
                           "refs/heads/.x",
                           "refs/heads/a/.x",
                           "refs/heads/x.lock",
                           "refs/heads/a.lock/b",
                           "refs/heads/a..b",
                           "refs/heads/x.",
                           "refs/heads/a b",
                           "refs/heads/a~1",
                           "refs/heads/a^",
                           "refs/heads/a:b",
                           "refs/heads/a?",
                           "refs/heads/a*",
                           "refs/heads/a[b",
                           "refs/heads/a\\b",
                           "refs/heads/a@{b",
                           "refs/heads/@",
                           "refs/heads/-x",
                           "refs/heads/HEAD",
                           "refs/heads/a\x1b",
                           "refs/heads/../../config",
                           "refs/heads/a\x7f"}) {
    EXPECT_FALSE(is_ref_name(name)) << name;
  }
}

TEST(Head, IsABranchOrAnId) {
  EXPECT_EQ(parse_head("ref: refs/heads/main\n"), "ref: refs/heads/main");
  EXPECT_EQ(parse_head(kA + "\n"), kA);
  EXPECT_EQ(parse_head("ref: refs/remotes/x\n"), std::nullopt);
  EXPECT_EQ(parse_head("ref: ../config\n"), std::nullopt);
  EXPECT_EQ(parse_head("abc"), std::nullopt);
}

TEST(GitRefsOfARepository, ALooseFileHidesAPackedLine) {
  std::vector<GitRef> refs;
  ASSERT_TRUE(parse_packed_refs(
      "# head\n" + kA + " refs/heads/x\n" + kB + " refs/tags/t\n^" + kC + "\n", refs));
  refs.push_back({"refs/heads/x", kC, true});
  EXPECT_EQ(ref_value(refs, "refs/heads/x"), kC);
  EXPECT_EQ(ref_value(refs, "refs/tags/t"), kB);
  EXPECT_EQ(ref_value(refs, "refs/heads/y"), std::nullopt);
}

}  // namespace
}  // namespace cordon
