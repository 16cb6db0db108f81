// Myers' greedy algorithm over lines: the shortest script of insertions and deletions. It keeps one
// row of furthest points for every step, so the number of steps is bounded; past the bound the
// whole middle is shown as replaced, which is a correct difference and not the shortest one.
#include "changes/line_diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/text.h"

namespace cordon {
namespace {

constexpr std::size_t kMostDiffBytes = std::size_t{4} * 1024 * 1024;
constexpr int kMostSteps = 2000;
constexpr std::size_t kContext = 3;

enum class Mark : char { Same = ' ', Old = '-', New = '+' };
struct Line {
  Mark mark;
  std::string_view text;
};

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t length = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return lines;
}

using Lines = std::vector<std::string_view>;

// The edit script of a and b, which differ in their first and their last line.
std::vector<Line> script(const Lines& a, const Lines& b) {
  const auto n = static_cast<int>(a.size());
  const auto m = static_cast<int>(b.size());
  std::vector<Line> lines;
  const int most = std::min(n + m, kMostSteps);
  const auto row = [&](int step) { return static_cast<std::size_t>(2 * step + 1); };
  std::vector<std::vector<int>> rows;
  std::vector<int> furthest(row(most) + 2, 0);
  const auto at = [&](int k) { return static_cast<std::size_t>(k + most + 1); };
  int end = -1;
  for (int d = 0; d <= most && end < 0; ++d) {
    for (int k = -d; k <= d; k += 2) {
      const bool down = k == -d || (k != d && furthest[at(k - 1)] < furthest[at(k + 1)]);
      int x = down ? furthest[at(k + 1)] : furthest[at(k - 1)] + 1;
      while (x < n && x - k < m &&
             a[static_cast<std::size_t>(x)] == b[static_cast<std::size_t>(x - k)]) {
        ++x;
      }
      furthest[at(k)] = x;
      if (x >= n && x - k >= m) end = d;
    }
    rows.emplace_back(furthest.begin() + static_cast<std::ptrdiff_t>(at(-d)),
                      furthest.begin() + static_cast<std::ptrdiff_t>(at(d)) + 1);
  }
  if (end < 0) {
    for (const std::string_view line : a) lines.push_back({Mark::Old, line});
    for (const std::string_view line : b) lines.push_back({Mark::New, line});
    return lines;
  }
  int x = n;
  int y = m;
  for (int d = end; d >= 0; --d) {
    const int k = x - y;
    const auto before = [&](int other) -> int {
      if (d == 0 || other < -(d - 1) || other > d - 1) return -1;
      return rows[static_cast<std::size_t>(d - 1)][static_cast<std::size_t>(other + d - 1)];
    };
    const bool down = k == -d || (k != d && before(k - 1) < before(k + 1));
    const int from_x = d == 0 ? 0 : down ? before(k + 1) : before(k - 1);
    const int from_y = d == 0 ? 0 : from_x - (down ? k + 1 : k - 1);
    const int middle_x = d == 0 ? 0 : down ? from_x : from_x + 1;
    while (x > middle_x && y > middle_x - k) {
      --x;
      --y;
      lines.push_back({Mark::Same, a[static_cast<std::size_t>(x)]});
    }
    if (d == 0) break;
    if (down) {
      lines.push_back({Mark::New, b[static_cast<std::size_t>(--y)]});
    } else {
      lines.push_back({Mark::Old, a[static_cast<std::size_t>(--x)]});
    }
    x = from_x;
    y = from_y;
  }
  std::ranges::reverse(lines);
  return lines;
}

std::vector<Line> compare(Lines a, Lines b) {
  std::vector<Line> head;
  std::vector<Line> tail;
  std::size_t same = 0;
  while (same < a.size() && same < b.size() && a[same] == b[same]) ++same;
  for (std::size_t i = 0; i < same; ++i) head.push_back({Mark::Same, a[i]});
  a.erase(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(same));
  b.erase(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(same));
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    tail.push_back({Mark::Same, a.back()});
    a.pop_back();
    b.pop_back();
  }
  const std::vector<Line> middle = script(a, b);
  head.insert(head.end(), middle.begin(), middle.end());
  head.insert(head.end(), tail.rbegin(), tail.rend());
  return head;
}

void print(const Line& line, std::string& out) {
  std::string_view text = line.text;
  const bool whole = text.ends_with('\n');
  if (whole) text.remove_suffix(1);
  out.append(1, static_cast<char>(line.mark)).append(sanitize_lines(text)).append("\n");
  if (!whole) out.append("\\ No newline at end of file\n");
}

std::string hunks(const std::vector<Line>& lines) {
  std::string out;
  std::size_t old_line = 1;
  std::size_t new_line = 1;
  std::size_t next = 0;
  while (next < lines.size()) {
    std::size_t first = next;
    while (first < lines.size() && lines[first].mark == Mark::Same) ++first;
    if (first == lines.size()) break;
    const std::size_t begin = first > next + kContext ? first - kContext : next;
    std::size_t end = first;
    for (std::size_t i = first; i < lines.size() && i <= end + 2 * kContext; ++i) {
      if (lines[i].mark != Mark::Same) end = i;
    }
    const std::size_t stop = std::min(lines.size(), end + 1 + kContext);
    old_line += begin - next;
    new_line += begin - next;
    std::string body;
    std::size_t old_count = 0;
    std::size_t new_count = 0;
    for (std::size_t i = begin; i < stop; ++i) {
      if (lines[i].mark != Mark::New) ++old_count;
      if (lines[i].mark != Mark::Old) ++new_count;
      print(lines[i], body);
    }
    const auto range = [](std::size_t line, std::size_t count) {
      return std::to_string(count == 0 ? line - 1 : line) + "," + std::to_string(count);
    };
    out.append("@@ -").append(range(old_line, old_count));
    out.append(" +").append(range(new_line, new_count)).append(" @@\n").append(body);
    old_line += old_count;
    new_line += new_count;
    next = stop;
  }
  return out;
}

}  // namespace

std::string line_diff(std::string_view old_text, std::string_view new_text,
                      std::string_view old_name, std::string_view new_name) {
  if (old_text == new_text) return {};
  std::string out = "--- " + sanitize(old_name) + "\n+++ " + sanitize(new_name) + "\n";
  const auto binary = [](std::string_view text) {
    return text.find('\0') != std::string_view::npos;
  };
  if (binary(old_text) || binary(new_text)) return out + "binary content differs\n";
  if (old_text.size() > kMostDiffBytes || new_text.size() > kMostDiffBytes) {
    return out + "content differs, and is too large to compare line by line\n";
  }
  return out + hunks(compare(lines_of(old_text), lines_of(new_text)));
}

}  // namespace cordon
