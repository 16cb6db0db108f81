#include "faces/mcp/inside/line_diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cordon::mcp {
namespace {

using Lines = std::vector<std::string_view>;

constexpr std::size_t kContext = 3;
constexpr std::int64_t kMostSteps = 800;  // memory grows with their square

Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::size_t length = end == std::string_view::npos ? text.size() : end + 1;
    lines.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return lines;
}

// A run of lines that are gone and of lines that came in their place.
struct Change {
  std::size_t old_begin;
  std::size_t old_end;
  std::size_t new_begin;
  std::size_t new_end;
};

// The shortest way from one list to the other, after Myers: for each number of steps the furthest
// place on each diagonal; then back along the way that reached the end.
class ShortestEdit {
 public:
  ShortestEdit(const Lines& before, const Lines& after)
      : before_(before),
        after_(after),
        n_(static_cast<std::int64_t>(before.size())),
        m_(static_cast<std::int64_t>(after.size())) {}

  // Empty lines of a way are impossible unless both are equal; false: too far apart.
  bool run(std::vector<Change>& changes) {
    const std::int64_t most = std::min(n_ + m_, kMostSteps);
    std::vector<std::int64_t> furthest(static_cast<std::size_t>(2 * most + 3), 0);
    const std::int64_t middle = most + 1;
    for (std::int64_t steps = 0; steps <= most; ++steps) {
      for (std::int64_t k = -steps; k <= steps; k += 2) {
        const auto at = [&](std::int64_t diagonal) -> std::int64_t& {
          return furthest[static_cast<std::size_t>(middle + diagonal)];
        };
        const bool down = k == -steps || (k != steps && at(k - 1) < at(k + 1));
        std::int64_t x = down ? at(k + 1) : at(k - 1) + 1;
        while (x < n_ && x - k < m_ && before_[index(x)] == after_[index(x - k)]) ++x;
        at(k) = x;
        if (x >= n_ && x - k >= m_) {
          trace_.push_back(furthest);
          walk_back(steps, middle, changes);
          return true;
        }
      }
      trace_.push_back(furthest);
    }
    return false;
  }

 private:
  static std::size_t index(std::int64_t place) { return static_cast<std::size_t>(place); }

  void walk_back(std::int64_t steps, std::int64_t middle, std::vector<Change>& changes) const {
    std::int64_t x = n_;
    std::int64_t y = m_;
    for (; steps > 0; --steps) {
      const std::vector<std::int64_t>& row = trace_[index(steps - 1)];
      const auto at = [&](std::int64_t diagonal) { return row[index(middle + diagonal)]; };
      const std::int64_t k = x - y;
      const bool down = k == -steps || (k != steps && at(k - 1) < at(k + 1));
      const std::int64_t from = down ? k + 1 : k - 1;
      const std::int64_t old_x = at(from);
      const std::int64_t old_y = old_x - from;
      changes.push_back({index(old_x), index(down ? old_x : old_x + 1), index(old_y),
                         index(down ? old_y + 1 : old_y)});
      x = old_x;
      y = old_y;
    }
    std::ranges::reverse(changes);
  }

  const Lines& before_;
  const Lines& after_;
  std::int64_t n_;
  std::int64_t m_;
  std::vector<std::vector<std::int64_t>> trace_;
};

std::vector<Change> joined(const std::vector<Change>& single) {
  std::vector<Change> changes;
  for (const Change& change : single) {
    if (!changes.empty() && changes.back().old_end == change.old_begin &&
        changes.back().new_end == change.new_begin) {
      changes.back().old_end = change.old_end;
      changes.back().new_end = change.new_end;
    } else {
      changes.push_back(change);
    }
  }
  return changes;
}

std::vector<Change> changes_between(const Lines& before, const Lines& after) {
  const auto same = std::ranges::mismatch(before, after);
  const auto begin = static_cast<std::size_t>(same.in1 - before.begin());
  std::size_t end = 0;
  while (end < before.size() - begin && end < after.size() - begin &&
         before[before.size() - 1 - end] == after[after.size() - 1 - end]) {
    ++end;
  }
  const Lines old_part(same.in1, before.end() - static_cast<std::ptrdiff_t>(end));
  const Lines new_part(same.in2, after.end() - static_cast<std::ptrdiff_t>(end));
  if (old_part.empty() && new_part.empty()) return {};
  std::vector<Change> single;
  if (!ShortestEdit(old_part, new_part).run(single)) {
    return {{begin, before.size() - end, begin, after.size() - end}};
  }
  for (Change& change : single) {
    change.old_begin += begin;
    change.old_end += begin;
    change.new_begin += begin;
    change.new_end += begin;
  }
  return joined(single);
}

class Writer {
 public:
  Writer(const Lines& before, const Lines& after) : before_(before), after_(after) {}

  // Changes that share context stand in one hunk.
  void hunk(const std::vector<Change>& changes, std::size_t first, std::size_t last) {
    const std::size_t lead = std::min({kContext, changes[first].old_begin});
    const std::size_t trail = std::min(kContext, before_.size() - changes[last].old_end);
    const std::size_t old_begin = changes[first].old_begin - lead;
    const std::size_t new_begin = changes[first].new_begin - lead;
    const std::size_t old_count = changes[last].old_end + trail - old_begin;
    const std::size_t new_count = changes[last].new_end + trail - new_begin;
    text += "@@ -" + range(old_begin, old_count) + " +" + range(new_begin, new_count) + " @@\n";
    std::size_t at = old_begin;
    for (std::size_t i = first; i <= last; ++i) {
      const Change& change = changes[i];
      for (; at < change.old_begin; ++at) line(' ', before_[at]);
      for (; at < change.old_end; ++at) line('-', before_[at]);
      for (std::size_t n = change.new_begin; n < change.new_end; ++n) line('+', after_[n]);
    }
    for (; at < changes[last].old_end + trail; ++at) line(' ', before_[at]);
  }

  std::string text;

 private:
  static std::string range(std::size_t begin, std::size_t count) {
    return std::to_string(count == 0 ? begin : begin + 1) + "," + std::to_string(count);
  }
  void line(char sign, std::string_view content) {
    text += sign;
    text += content;
    if (!content.ends_with('\n')) text += "\n\\ No newline at end of file\n";
  }

  const Lines& before_;
  const Lines& after_;
};

}  // namespace

std::string line_diff(std::string_view before, std::string_view after, std::size_t most) {
  const Lines old_lines = lines_of(before);
  const Lines new_lines = lines_of(after);
  const std::vector<Change> changes = changes_between(old_lines, new_lines);
  Writer writer(old_lines, new_lines);
  for (std::size_t first = 0; first < changes.size() && writer.text.size() <= most;) {
    std::size_t last = first;
    while (last + 1 < changes.size() &&
           changes[last + 1].old_begin - changes[last].old_end <= 2 * kContext) {
      ++last;
    }
    writer.hunk(changes, first, last);
    first = last + 1;
  }
  if (writer.text.size() > most) {
    writer.text.resize(writer.text.rfind('\n', most) + 1);
    writer.text += "[... the rest of the difference is left out ...]\n";
  }
  return std::move(writer.text);
}

}  // namespace cordon::mcp
