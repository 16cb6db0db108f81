#include "compat/safeclaw/apply/request.h"

#include <gtest/gtest.h>

#include <vector>

namespace cordon::apply {
namespace {

class Line {
 public:
  Line(std::initializer_list<const char*> words) : texts_(words.begin(), words.end()) {
    for (std::string& text : texts_) words_.push_back(text.data());
  }
  [[nodiscard]] Judged<Request> parsed() const { return parse_request(words_); }

 private:
  std::vector<std::string> texts_;
  std::vector<char*> words_;
};

TEST(ApplyRequest, TakesAPolicyAndACommand) {
  const Line line{"--policy-file", "p.json", "--status-fd=9", "--", "ls", "--policy-file", "--"};
  const auto request = line.parsed();
  ASSERT_TRUE(request) << request.error().text;
  EXPECT_EQ(request->policy_file, "p.json");
  EXPECT_EQ(request->status_fd, 9);
  EXPECT_EQ(request->purpose, Purpose::Run);
  ASSERT_EQ(request->command.size(), 3U);
  EXPECT_STREQ(request->command[1], "--policy-file");
  const Line dry{"--dry-run", "--", "x"};
  ASSERT_TRUE(dry.parsed());
  EXPECT_EQ(dry.parsed()->purpose, Purpose::DryRun);
  EXPECT_FALSE(dry.parsed()->policy_file);
}

TEST(ApplyRequest, RefusesEverythingElse) {
  const Line lines[] = {{},
                        {"ls"},
                        {"--"},
                        {"--policy-file", "p"},
                        {"--policy-file"},
                        {"--policy-file=", "--", "ls"},
                        {"--policy-filex", "p", "--", "ls"},
                        {"--bogus", "--", "ls"},
                        {"-h"},
                        {"ls", "--", "x"},
                        {"--status-fd", "--", "ls"},
                        {"--status-fd", "2", "--", "ls"},
                        {"--status-fd", "9x", "--", "ls"},
                        {"--status-fd", "99999999999", "--", "ls"},
                        {"--status-fd", "3", "--", "ls"}};
  for (const Line& line : lines) {
    const auto request = line.parsed();
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error().status, Status::Usage);
  }
}

}  // namespace
}  // namespace cordon::apply
