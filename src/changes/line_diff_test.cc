#include "changes/line_diff.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <vector>

namespace cordon {
namespace {

// Applies the difference to the old text again: whatever the script, it has to give the new one.
std::string patched(const std::string& old_text, const std::string& diff) {
  std::vector<std::string> lines;
  std::istringstream before(old_text);
  for (std::string line; std::getline(before, line);) lines.push_back(line);
  std::string out;
  std::size_t next = 0;
  std::istringstream text(diff);
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("---") || line.starts_with("+++")) continue;
    if (line.starts_with("@@")) {
      const std::size_t first = std::stoul(line.substr(4));
      const bool empty = line.find(",0 ") != std::string::npos;
      while (next + (empty ? 0 : 1) < first) out += lines[next++] + "\n";
    } else if (line.starts_with('+')) {
      out += line.substr(1) + "\n";
    } else if (line.starts_with('-')) {
      EXPECT_EQ(lines.at(next), line.substr(1));
      ++next;
    } else {
      EXPECT_EQ(lines.at(next), line.substr(1));
      out += lines.at(next++) + "\n";
    }
  }
  while (next < lines.size()) out += lines[next++] + "\n";
  return out;
}

TEST(ChangesDiff, EqualTextsDifferInNothing) { EXPECT_EQ(line_diff("a\n", "a\n", "x", "y"), ""); }

TEST(ChangesDiff, OneChangedLineHasItsContext) {
  EXPECT_EQ(line_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nX\n6\n7\n8\n9\n", "a", "b"),
            "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+X\n 6\n 7\n 8\n");
}

TEST(ChangesDiff, WhatIsNewOrGoneHasAnEmptySide) {
  EXPECT_EQ(line_diff("", "a\n", "/dev/null", "b"), "--- /dev/null\n+++ b\n@@ -0,0 +1,1 @@\n+a\n");
  EXPECT_EQ(line_diff("a\n", "", "a", "/dev/null"), "--- a\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
}

TEST(ChangesDiff, ControlBytesAreEscapedAndBinaryIsSaid) {
  EXPECT_EQ(line_diff("", "\x1b[2J\n", "a", "b").find('\x1b'), std::string::npos);
  EXPECT_NE(line_diff("", std::string("a\0b", 3), "a", "b").find("binary"), std::string::npos);
}

TEST(ChangesDiff, EveryDifferenceCanBeAppliedAgain) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string a;
    std::string b;
    const auto size = random() % 40;
    for (std::size_t i = 0; i < size; ++i)
      a += std::string(1, static_cast<char>('a' + random() % 4)) + "\n";
    for (char c : a) b += c;
    for (std::size_t i = 0; i < random() % 12; ++i) {
      std::vector<std::string> lines;
      std::istringstream text(b);
      for (std::string line; std::getline(text, line);) lines.push_back(line);
      const std::size_t at = lines.empty() ? 0 : random() % lines.size();
      if (random() % 2 == 0 && !lines.empty()) {
        lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), "n" + std::to_string(i));
      }
      b.clear();
      for (const std::string& line : lines) b += line + "\n";
    }
    EXPECT_EQ(patched(a, line_diff(a, b, "a", "b")), b) << a << "---\n" << b;
  }
}

}  // namespace
}  // namespace cordon
