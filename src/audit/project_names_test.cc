#include "audit/project_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace cordon::audit {
namespace {

class ProjectNamesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = std::filesystem::temp_directory_path().string() + "/cordon-names-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    state_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(state_); }
  [[nodiscard]] std::string text() const {
    std::ostringstream content;
    content << std::ifstream(state_ + "/projects.jsonl").rdbuf();
    return content.str();
  }
  void remember(const std::string& label, const std::string& directory) {
    remember_project(state_, label, directory);
  }
  [[nodiscard]] std::string told(const std::string& label) const {
    return ProjectNames::read(state_).directory_of(label).value_or("nothing");
  }
  std::string state_;
};

TEST_F(ProjectNamesTest, RemembersADirectoryOnce) {
  EXPECT_EQ(told("@home/#1"), "nothing");
  remember("@home/#1", "/home/u/one");
  remember("@home/#1", "/home/u/one");
  remember("/srv/#2", "/srv/two");
  EXPECT_EQ(told("@home/#1"), "/home/u/one");
  EXPECT_EQ(told("/srv/#2"), "/srv/two");
  const std::string written = text();
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 2);
}

TEST_F(ProjectNamesTest, RemembersOnceWhatIsSpelledOtherwise) {
  std::ofstream(state_ + "/projects.jsonl")
      << "{ \"directory\": \"/home/u/one\", \"label\": \"@home/#1\" }\n";
  const std::string before = text();
  remember("@home/#1", "/home/u/one");
  EXPECT_EQ(text(), before);
}

TEST_F(ProjectNamesTest, AHostileNameIsPrintable) {
  remember("@home/#1", "/home/u/a\n\x1b[2J\xff\"b");
  EXPECT_EQ(told("@home/#1"), "/home/u/a\\x0a\\x1b[2J\\xff\"b");
}

TEST_F(ProjectNamesTest, ALineThatWasCutOffHidesNoOther) {
  remember("@home/#1", "/home/u/one");
  std::ofstream(state_ + "/projects.jsonl", std::ios::app) << "{\"label\":\"@home/#2\"";
  remember("@home/#2", "/home/u/two");
  EXPECT_EQ(told("@home/#1"), "/home/u/one");
  EXPECT_EQ(told("@home/#2"), "/home/u/two");
}

TEST_F(ProjectNamesTest, StaysSmall) {
  for (int number = 0; number < 100; ++number) {
    remember("@home/#" + std::to_string(number), "/home/u/" + std::string(4000, 'x'));
  }
  EXPECT_LE(text().size(), 256u * 1024);
  EXPECT_EQ(told("@home/#99"), "nothing");
}

}  // namespace
}  // namespace cordon::audit
