#include "host/search_turn.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "host/test_tree.h"

namespace cordon {
namespace {

using std::chrono::milliseconds;

class SearchTurns : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"one/inner", "one/beside", "two"}) tree_.directory(name);
  }
  Result<SearchTurn> turn(const std::vector<std::string>& names,
                          milliseconds longest = milliseconds(30)) {
    std::vector<Grant> writable;
    for (const std::string& name : names) {
      Grant grant;
      grant.path = tree_.at(name);
      writable.push_back(std::move(grant));
    }
    return SearchTurn::wait_for(tree_.at("state"), writable, longest);
  }

  testing::TestTree tree_;
};

TEST_F(SearchTurns, OneTreeIsSearchedByOne) {
  std::optional<Result<SearchTurn>> first = turn({"one"});
  ASSERT_TRUE(*first);
  EXPECT_FALSE(turn({"one"}));
  first.reset();
  EXPECT_TRUE(turn({"one"}));
}

TEST_F(SearchTurns, ATreeInATreeWaitsBothWays) {
  {
    const auto outer = turn({"one"});
    EXPECT_FALSE(turn({"one/inner"}));
  }
  const auto inner = turn({"one/inner"});
  ASSERT_TRUE(inner);
  EXPECT_FALSE(turn({"one"}));
}

TEST_F(SearchTurns, TreesBesideEachOtherDoNotWait) {
  const auto inner = turn({"one/inner"});
  const auto beside = turn({"one/beside"});
  const auto other = turn({"two"});
  EXPECT_TRUE(inner && beside && other);
}

TEST_F(SearchTurns, ARunWithSeveralTreesWaitsForEach) {
  const auto both = turn({"one", "one/inner", "two"});
  ASSERT_TRUE(both);
  EXPECT_FALSE(turn({"two"}));
  EXPECT_FALSE(turn({"one/beside"}));
}

TEST_F(SearchTurns, WhoWaitsGoesOnWhenTheOtherIsDone) {
  std::optional<Result<SearchTurn>> first = turn({"one"});
  ASSERT_TRUE(*first);
  std::jthread other([&] {
    std::this_thread::sleep_for(milliseconds(100));
    first.reset();
  });
  EXPECT_TRUE(turn({"one/inner"}, std::chrono::seconds(30)));
}

TEST_F(SearchTurns, ARootThatIsGoneIsNoObstacle) {
  EXPECT_TRUE(turn({"one/gone"}));
  EXPECT_TRUE(turn({}));
}

}  // namespace
}  // namespace cordon
