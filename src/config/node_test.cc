#include "config/node.h"

#include <gtest/gtest.h>

#include <limits>

namespace cordon {
namespace {

TEST(Node, FindsAMemberByItsKey) {
  Node node;
  node.set("a", 1).set("b", "text");
  ASSERT_NE(node.find("b"), nullptr);
  EXPECT_EQ(std::get<std::string>(node.find("b")->value), "text");
  EXPECT_EQ(node.find("c"), nullptr);
}

TEST(Node, FindsNothingInWhatIsNotAMap) {
  EXPECT_EQ(Node(1).find("a"), nullptr);
  EXPECT_EQ(Node(NodeList{Node(1)}).find("a"), nullptr);
}

TEST(Node, KeepsMembersInTheOrderTheyWereSet) {
  Node node;
  node.set("z", 1).set("a", 2);
  EXPECT_EQ(write_json(node, JsonStyle::Compact), R"({"z":1,"a":2})");
}

TEST(Node, SaturatesNumbersThatDoNotFit) {
  const Node largest(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(std::get<std::int64_t>(largest.value), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(std::get<std::int64_t>(Node(std::uint64_t{7}).value), 7);
}

TEST(Node, HoldsABooleanAsABoolean) {
  const NodeList list{Node(true), Node("true")};
  EXPECT_TRUE(std::holds_alternative<bool>(list[0].value));
  EXPECT_TRUE(std::holds_alternative<std::string>(list[1].value));
}

}  // namespace
}  // namespace cordon
