#include "host/frozen.h"

#include <gmock/gmock.h>

#include "host/test_tree.h"

namespace cordon {
namespace {

using testing::clamped;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::surveyed;
using testing::TestTree;

class FrozenTest : public ::testing::Test {
 protected:
  FrozenTest() : caller_(tree_.caller()) {
    tree_.file("data/there/plain");
    tree_.file("data/file");
  }

  std::vector<Frozen> frozen(const Policy& policy) {
    return surveyed(clamped(policy, caller_), caller_).facts.frozen;
  }
  static std::vector<std::string> paths(const std::vector<Frozen>& found) {
    std::vector<std::string> out;
    for (const Frozen& one : found) out.push_back(one.path);
    return out;
  }
  [[nodiscard]] Policy reading(const std::string& path, const std::string& deny) const {
    Policy policy;
    policy.fs.read.push_back({path, {}});
    if (!deny.empty()) policy.fs.deny.push_back({deny, {}});
    return policy;
  }

  TestTree tree_;
  Caller caller_;
};

TEST_F(FrozenTest, NothingWithoutSomethingToHide) {
  EXPECT_THAT(frozen(reading(tree_.at("data"), "")), IsEmpty());
  // A pattern for any depth has no directory of its own.
  EXPECT_THAT(frozen(reading(tree_.at("data"), "*.pem")), IsEmpty());
}

TEST_F(FrozenTest, TheDirectoriesDownToADeniedPath) {
  const auto found = frozen(reading(tree_.at("data"), tree_.at("data/there/secret")));
  EXPECT_THAT(paths(found), ElementsAre(tree_.at("data"), tree_.at("data/there")));
  ASSERT_EQ(found.size(), 2U);
  ASSERT_EQ(found[0].entries.size(), 2U);
  EXPECT_EQ(found[0].entries[0].name, "file");
  EXPECT_EQ(found[0].entries[0].file, FileKind::Regular);
  EXPECT_EQ(found[0].entries[1].name, "there");
}

TEST_F(FrozenTest, TheNearestDirectoryThatIsThere) {
  EXPECT_THAT(paths(frozen(reading(tree_.at("data"), tree_.at("data/a/b/c")))),
              ElementsAre(tree_.at("data")));
}

TEST_F(FrozenTest, TheDirectoryOfAPatternForOneLevel) {
  EXPECT_THAT(paths(frozen(reading(tree_.at("data"), tree_.at("data/*.pem")))),
              ElementsAre(tree_.at("data")));
}

TEST_F(FrozenTest, NotWhereTheCommandWrites) {
  Policy policy = reading(tree_.at("data"), tree_.at("data/there/secret"));
  policy.fs.write.push_back({tree_.at("data/there"), {}});
  EXPECT_THAT(frozen(policy), IsEmpty());
}

TEST_F(FrozenTest, AHomeAndWhatCouldHoldAStoreInIt) {
  tree_.file("home/.config/plain/x");
  tree_.file("home/.cargo/config.toml");
  tree_.file("home/src/x");
  const std::string home = tree_.at("home");
  EXPECT_THAT(paths(frozen(reading(tree_.root(), ""))),
              ElementsAre(home, home + "/.cargo", home + "/.config"));
  EXPECT_THAT(paths(frozen(reading(home + "/.cargo", ""))), ElementsAre(home + "/.cargo"));
  EXPECT_THAT(frozen(reading(home + "/src", "")), IsEmpty());
}

}  // namespace
}  // namespace cordon
