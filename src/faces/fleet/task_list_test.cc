#include "faces/fleet/task_list.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

std::string refusal_of(std::string_view line) {
  const auto task = read_task(line);
  return task ? "taken" : task.error().what;
}

TEST(FleetTasks, AreReadWithEveryKey) {
  const auto task = read_task(
      R"({"id":"a.1-b_2","argv":["make","test"],"cwd":"sub","env":{"CI":"1"},"stdin":"x\n"})");
  ASSERT_TRUE(task);
  EXPECT_EQ(task->id, "a.1-b_2");
  EXPECT_EQ(task->argv, (std::vector<std::string>{"make", "test"}));
  EXPECT_EQ(task->cwd, "sub");
  EXPECT_EQ(task->env.at("CI"), "1");
  EXPECT_EQ(task->input, "x\n");
}

TEST(FleetTasks, WhatIsNoTaskIsRefusedByItsFault) {
  EXPECT_NE(refusal_of("nonsense").find("no JSON object"), std::string::npos);
  EXPECT_NE(refusal_of(R"(["true"])").find("no JSON object"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"id":"a"})").find("no \"argv\""), std::string::npos);
  EXPECT_NE(refusal_of(R"({"argv":[]})").find("not a list with a command"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"argv":"true"})").find("not a list with a command"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"argv":["true",1]})").find("not a text"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"argv":[""]})").find("empty"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"argv":["a\u0000b"]})").find("NUL"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"argv":["true"],"argv":["false"]})").find("JSON"), std::string::npos);
  EXPECT_NE(refusal_of(R"({"argv":["true"],"id":"../x"})").find("\"id\""), std::string::npos);
  EXPECT_NE(refusal_of(R"({"argv":["true"],"env":{"A=B":"1"}})").find("name of a variable"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"({"argv":["true"],"command":"x"})").find("no key"), std::string::npos);
  EXPECT_EQ(refusal_of(R"({"argv":["true"]})"), "taken");
}

TEST(FleetTasks, HaveAnIdOfPolicyCommandAndPlace) {
  const FleetTask task{{}, {"make", "test"}, {}, {}, {}};
  const FleetTask other{{}, {"make", "tests"}, {}, {}, {}};
  const FleetTask joined{{}, {"maketest"}, {}, {}, {}};
  const std::string id = stable_task_id("p", task, 1);
  EXPECT_EQ(id, stable_task_id("p", task, 1));
  for (const std::string& one : {stable_task_id("q", task, 1), stable_task_id("p", task, 2),
                                 stable_task_id("p", other, 1), stable_task_id("p", joined, 1)})
    EXPECT_NE(id, one);
}

TEST(FleetTasks, AreFoundByARowOfTheIndex) {
  const std::string row = index_row(0x1'0000'0010, "line");
  ASSERT_EQ(row.size(), kIndexRow);
  const auto entry = read_index_row(row);
  ASSERT_TRUE(entry);
  EXPECT_EQ(entry->offset, 0x1'0000'0010U);
  EXPECT_EQ(entry->mark, mark_of("line"));
  EXPECT_FALSE(read_index_row(row.substr(1)));
}

}  // namespace
}  // namespace cordon
