#include "faces/loop/progress.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace cordon::loop {
namespace {

Features plan() {
  Feature first;
  first.id = "a";
  first.title = "A";
  first.verify = "true";
  Feature second = first;
  second.id = "b";
  second.checked = true;
  return {first, second};
}

class ProgressTest : public testing::Test {
 protected:
  ProgressTest() {
    std::string place = (std::filesystem::temp_directory_path() / "cordon-loop.XXXXXX").string();
    directory_ = ::mkdtemp(place.data());
  }
  ~ProgressTest() override { std::filesystem::remove_all(directory_); }
  std::string directory_;
};

TEST_F(ProgressTest, ComesBackAsItWasWritten) {
  Progress progress = fresh_progress(plan(), hash_of(plan()));
  EXPECT_EQ(progress.features[1].state, FeatureState::Done);
  progress.features[0] = {"a", FeatureState::Failed, 3, 1200, {15, 250'000}, "it \"failed\"\n"};
  {
    const auto file = ProgressFile::open(directory_ + "/x/y");
    ASSERT_TRUE(file) << message(file.error());
    EXPECT_FALSE(*file->read());
    ASSERT_TRUE(file->write(progress));
  }
  const auto again = ProgressFile::open(directory_ + "/x/y");
  ASSERT_TRUE(again);
  const auto read = again->read();
  ASSERT_TRUE(read) << message(read.error());
  ASSERT_TRUE(*read);
  EXPECT_EQ(**read, progress);
  EXPECT_EQ(progress.wall_ms(), 1200U);
  EXPECT_EQ(progress.spent(), (Spent{15, 250'000}));
}

TEST_F(ProgressTest, IsHeldByOneLoopAtATime) {
  const auto first = ProgressFile::open(directory_);
  ASSERT_TRUE(first);
  const auto second = ProgressFile::open(directory_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::Usage);
}

TEST_F(ProgressTest, WhatCannotBeUnderstoodIsNotForgotten) {
  const auto file = ProgressFile::open(directory_);
  for (const char* text : {"", "{", "[]", R"({"version":2,"plan":"","features":[]})",
                           R"({"version":1,"plan":"","features":[{"id":"a","state":"happy"}]})"}) {
    std::ofstream(directory_ + "/progress.json") << text;
    EXPECT_FALSE(file->read()) << text;
  }
  std::filesystem::remove(directory_ + "/progress.json");
  std::filesystem::create_symlink("/etc/passwd", directory_ + "/progress.json");
  EXPECT_FALSE(file->read());
}

TEST(PlanHash, TellsAnotherPlanButNotAnotherMark) {
  Features other = plan();
  other[1].checked = false;
  EXPECT_EQ(hash_of(other), hash_of(plan()));
  other[0].verify = "false";
  EXPECT_NE(hash_of(other), hash_of(plan()));
}

}  // namespace
}  // namespace cordon::loop
