#include "base/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace cordon {
namespace {

std::vector<std::string> split_in(std::string_view bytes, std::size_t step, std::size_t longest) {
  LineSplitter splitter(longest);
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    splitter.add(bytes.substr(0, step), [&](const Line& line) {
      lines.push_back(line.kind == Line::Kind::Whole ? line.text : "<too long>");
    });
    bytes.remove_prefix(std::min(step, bytes.size()));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(LineSplitter, GivesTheSameLinesHoweverTheBytesCome) {
  constexpr std::string_view kBytes = "one\ntwo\r\n\n  \nlonger than ten\nfive\nunfinished";
  const Lines wanted = {"one", "two", "<too long>", "five"};
  for (std::size_t step = 1; step <= kBytes.size(); ++step) {
    EXPECT_EQ(split_in(kBytes, step, 10), wanted) << step;
  }
}

TEST(LineSplitter, GivesAnUnendedLineAtTheEnd) {
  LineSplitter splitter(10);
  Lines lines;
  const auto keep = [&](const Line& line) { lines.push_back(line.text); };
  splitter.add("one\ntw", keep);
  splitter.finish(keep);
  splitter.finish(keep);
  EXPECT_EQ(lines, (Lines{"one", "tw"}));
}

TEST(LineSplitter, TakesLinesUpToTheBound) {
  EXPECT_EQ(split_in("1234567890\n12345678901\n", 4, 10), (Lines{"1234567890", "<too long>"}));
}

TEST(LineSplitter, StripsAByteOrderMarkFromTheFirstLineAlone) {
  EXPECT_EQ(split_in("\xEF\xBB\xBF{}\n\xEF\xBB\xBF{}\n", 1, 10), (Lines{"{}", "\xEF\xBB\xBF{}"}));
}

TEST(LineSplitter, CountsWhatItThrowsAwayUntilTheLineEnds) {
  LineSplitter splitter(4);
  const auto ignore = [](const Line&) {};
  splitter.add("12345", ignore);
  splitter.add("678", ignore);
  EXPECT_EQ(splitter.discarded(), 8U);
  splitter.add("9\nab", ignore);
  EXPECT_EQ(splitter.discarded(), 0U);
}

}  // namespace
}  // namespace cordon
