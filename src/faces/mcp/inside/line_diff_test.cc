#include "faces/mcp/inside/line_diff.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/text.h"

namespace cordon::mcp {
namespace {

constexpr std::size_t kAll = 1 << 20;

// What a reader gets who follows the difference: an independent reading of the unified form.
std::string followed(const std::string& before, const std::string& diff) {
  std::vector<std::string> old_lines;
  for (std::size_t at = 0; at < before.size();) {
    const std::size_t end = before.find('\n', at);
    const std::size_t next = end == std::string::npos ? before.size() : end + 1;
    old_lines.push_back(before.substr(at, next - at));
    at = next;
  }
  std::string after;
  std::size_t at = 0;
  const std::vector<std::string_view> lines = split(diff, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    if (line.empty() || line.starts_with('\\')) continue;
    if (line.starts_with("@@ -")) {
      const std::size_t comma = line.find(',');
      std::size_t begin = *parse_number(line.substr(4, comma - 4));
      const std::size_t count =
          *parse_number(line.substr(comma + 1, line.find(' ', comma) - comma - 1));
      if (count > 0) --begin;
      while (at < begin) after += old_lines.at(at++);
      continue;
    }
    const bool ends = i + 1 < lines.size() && lines[i + 1].starts_with('\\');
    const std::string content = std::string(line.substr(1)) + (ends ? "" : "\n");
    if (line[0] != '+') {
      EXPECT_EQ(old_lines.at(at), content);
      ++at;
    }
    if (line[0] != '-') after += content;
  }
  while (at < old_lines.size()) after += old_lines[at++];
  return after;
}

TEST(LineDiff, ShowsOneChangeWithItsSurroundings) {
  EXPECT_EQ(line_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", kAll),
            "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
  EXPECT_EQ(line_diff("same\n", "same\n", kAll), "");
  EXPECT_EQ(line_diff("", "a\n", kAll), "@@ -0,0 +1,1 @@\n+a\n");
  EXPECT_EQ(line_diff("a", "a\n", kAll), "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n");
}

TEST(LineDiff, CanBeFollowedWhateverTheTexts) {
  EXPECT_TRUE(rc::check(
      [](const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b, bool ended) {
        const auto text = [&](const std::vector<std::uint8_t>& letters) {
          std::string made;
          for (const std::uint8_t letter : letters) {
            made += std::string(1, static_cast<char>('a' + letter % 4)) + "\n";
          }
          if (!ended && !made.empty()) made.pop_back();
          return made;
        };
        const std::string before = text(a);
        const std::string after = text(b);
        RC_ASSERT(followed(before, line_diff(before, after, kAll)) == after);
      }));
}

TEST(LineDiff, IsBounded) {
  std::string before;
  std::string after;
  for (int i = 0; i < 5000; ++i) {
    before += "old " + std::to_string(i) + "\n";
    after += "new " + std::to_string(i) + "\n";
  }
  EXPECT_EQ(followed(before, line_diff(before, after, kAll)), after);
  const std::string cut = line_diff(before, after, 1000);
  EXPECT_LT(cut.size(), 1100U);
  EXPECT_TRUE(cut.ends_with("left out ...]\n"));
}

}  // namespace
}  // namespace cordon::mcp
