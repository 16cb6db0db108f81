#include "faces/demo/scene_view.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/path.h"
#include "base/text.h"
#include "faces/cli/console.h"
#include "run/caller_terminal.h"

namespace cordon {
namespace {

using demo::DemoRunner;
using demo::Expected;
using demo::Scenario;

constexpr std::size_t kPlainWidth = 80;
constexpr std::size_t kNarrowest = 40;
constexpr std::size_t kSideBySide = 100;
constexpr std::size_t kGap = 2;

// How one attempt ended, and the words beside it.
struct Ending {
  std::string verdict;
  Tint tint = Tint::Plain;
  std::string words;
  bool complains = false;  // an error message, whose last part says most
};

struct SceneRow {
  std::string attempt;
  std::optional<Ending> without;
  Ending with;
};

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  if (what.empty()) return text;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
    text.replace(at, what.size(), by);
  return text;
}

// One column for each byte, whatever the bytes: neither moves the cursor nor shifts what follows.
std::string plain(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : sanitize(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out.append("\\x").append(1, kDigits[byte >> 4U]).append(1, kDigits[byte & 15U]);
    }
  }
  return out;
}

std::string first_line(std::string_view text) {
  while (text.starts_with('\n')) text.remove_prefix(1);
  const std::size_t end = std::min(text.find('\n'), text.size());
  const bool more = text.substr(end).find_first_not_of('\n') != std::string_view::npos;
  return std::string(text.substr(0, end)) + (more ? " ..." : "");
}

// sh -c SCRIPT NAME WORD...
bool is_script(const std::vector<std::string>& argv) { return argv.size() > 3 && argv[1] == "-c"; }

bool drop_prefix(std::string& text, std::string_view prefix) {
  if (prefix.empty() || !text.starts_with(std::string(prefix) + ": ")) return false;
  text.erase(0, prefix.size() + 2);
  return true;
}

// "/bin/cat: ~/x: No such file or directory" beside "cat ~/x" says twice what was attempted. The
// shell's number of the line says nothing.
std::string without_repetition(std::string line, const std::vector<std::string>& argv) {
  if (argv.empty()) return line;
  const std::string_view script_name = is_script(argv) ? std::string_view(argv[3]) : "";
  if (!drop_prefix(line, argv.front()) && !drop_prefix(line, basename(argv.front())) &&
      !drop_prefix(line, script_name))
    return line;
  const std::string number = line.substr(0, line.find(':'));
  if (parse_number(number)) (void)drop_prefix(line, number);
  for (const std::string& word : argv) {
    if (drop_prefix(line, word)) break;
  }
  return line;
}

std::string in_brackets(std::string_view seen) { return "(" + plain(seen) + ")"; }

// What the attempt printed; if that is nothing, what was seen on the host.
void describe(Ending& ending, const DemoRunner& runner, const std::vector<std::string>& argv,
              const Outcome& outcome, const std::string& seen) {
  const bool failed = exit_status(outcome.end) != 0;
  const std::string out = outcome.out ? first_line(outcome.out->head) : "";
  const std::string err = outcome.err ? first_line(outcome.err->head) : "";
  ending.complains = failed && !err.empty();
  const std::string& line = ending.complains || out.empty() ? err : out;
  ending.words = line.empty()
                     ? in_brackets(seen)
                     : plain(replaced(ending.complains ? without_repetition(line, argv) : line,
                                      runner.caller().home, "~"));
}

std::string word_of(const Scenario& scenario) {
  if (scenario.attempt.argv.empty())
    return scenario.sight.as_designed ? "AS DESIGNED" : "NOT AS DESIGNED";
  if (!scenario.report || !scenario.report->outcome) return "NOT RUN";
  const bool good = scenario.behaved();
  const bool nothing_shown = scenario.sight.as_designed || !scenario.sight.conclusive;
  if (!good && scenario.ended_well() && nothing_shown) return "NOT SHOWN";
  switch (scenario.expected) {
    case Expected::Allowed:
      return good ? "ALLOWED" : "NOT AS DESIGNED";
    case Expected::Blocked:
      return good ? "BLOCKED" : "NOT BLOCKED";
    case Expected::Stopped:
      return good ? "STOPPED" : "NOT STOPPED";
  }
  return "";
}

Ending ending_with(const DemoRunner& runner, const Scenario& scenario) {
  Ending ending;
  ending.verdict = word_of(scenario);
  ending.tint = scenario.behaved() ? Tint::Good : Tint::Bad;
  const std::optional<Report>& report = scenario.report;
  // The processes of a bomb write at the same time: what they print cannot be read.
  if (report && report->outcome && scenario.expected != Expected::Stopped) {
    describe(ending, runner, scenario.attempt.argv, *report->outcome, scenario.sight.what);
  } else if (report && report->error) {
    ending.words = in_brackets(message(*report->error));
  } else {
    ending.words = in_brackets(scenario.sight.what);
  }
  return ending;
}

Ending ending_without(const DemoRunner& runner, const Scenario& scenario) {
  const demo::Unbounded& without = *scenario.without;
  Ending ending;
  if (!without.report || !without.report->outcome) {
    ending.verdict = "NOT RUN";
    ending.words = in_brackets(without.seen);
    return ending;
  }
  ending.verdict = without.succeeded() ? "DONE" : "FAILED";
  if (without.succeeded() && scenario.expected != Expected::Allowed) ending.tint = Tint::Warning;
  describe(ending, runner, scenario.attempt.argv, *without.report->outcome, without.seen);
  return ending;
}

// As a person would type it: a script's "$1" is what stands for it.
std::string typed(const DemoRunner& runner, const Scenario& scenario) {
  const std::vector<std::string>& argv = scenario.attempt.argv;
  if (argv.empty() || scenario.attempt.best_told_by_title) return scenario.title;
  const auto shown = [&](const std::string& word) {
    return quote(word) == word ? runner.shown(word) : quote(word);
  };
  std::string text;
  if (is_script(argv)) {
    text = argv[2];
    for (std::size_t i = 4; i < argv.size(); ++i)
      text = replaced(std::move(text), "\"$" + std::to_string(i - 3) + "\"", shown(argv[i]));
    return plain(text);
  }
  text = basename(argv.front());
  for (const std::string& word : std::span(argv).subspan(1)) text += " " + shown(word);
  return plain(text);
}

// Columns for texts that need so much, in so many altogether: who needs little gets all of it, and
// the others share what is left.
template <std::size_t kCount>
std::array<std::size_t, kCount> share(std::size_t width, std::array<std::size_t, kCount> needs) {
  std::array<std::size_t, kCount> given{};
  std::array<bool, kCount> served{};
  for (std::size_t left = kCount; left > 0; --left) {
    std::size_t least = kCount;
    for (std::size_t i = 0; i < kCount; ++i) {
      if (!served[i] && (least == kCount || needs[i] < needs[least])) least = i;
    }
    served[least] = true;
    given[least] = std::min(needs[least], width / left);
    width -= given[least];
  }
  return given;
}

std::string cut(std::string_view text, std::size_t width) {
  constexpr std::string_view kMore = "...";
  if (text.size() <= width) return std::string(text);
  if (width <= kMore.size()) return std::string(text.substr(0, width));
  return std::string(text.substr(0, width - kMore.size())).append(kMore);
}

std::string words_within(const Ending& ending, std::size_t width) {
  const std::size_t colon = ending.words.rfind(": ");
  if (ending.words.size() > width && ending.complains && colon != std::string::npos)
    return cut(std::string_view(ending.words).substr(colon + 2), width);
  return cut(ending.words, width);
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

std::string verdict_within(const Ending& ending, std::size_t width) {
  const std::string blanks(width - std::min(width, ending.verdict.size()), ' ');
  return tinted(STDOUT_FILENO, ending.tint, ending.verdict) + blanks;
}

std::string trimmed(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// The longest of a column.
struct SceneNeeds {
  std::size_t attempt = 0;
  std::size_t verdict = 0;
  std::size_t words = 0;
  void add(std::string_view what, const Ending& ending) {
    attempt = std::max(attempt, what.size());
    verdict = std::max(verdict, ending.verdict.size());
    words = std::max(words, ending.words.size());
  }
};

using WhichEnding = const Ending* (*)(const SceneRow&);

const Ending* with_cordon(const SceneRow& row) { return &row.with; }
const Ending* without_cordon(const SceneRow& row) { return row.without ? &*row.without : nullptr; }

// "  BLOCKED  cat ~/.ssh/id_ed25519  No such file or directory"
std::string block(const std::vector<SceneRow>& rows, WhichEnding which, const SceneNeeds& needs,
                  std::size_t width) {
  const std::size_t taken = kGap + needs.verdict + kGap + kGap;
  const auto [attempt, words] =
      share<2>(width > taken ? width - taken : 0, {needs.attempt, needs.words});
  std::string text;
  for (const SceneRow& row : rows) {
    const Ending* ending = which(row);
    if (ending == nullptr) continue;
    text +=
        trimmed("  " + verdict_within(*ending, needs.verdict) + "  " +
                padded(cut(row.attempt, attempt), attempt) + "  " + words_within(*ending, words));
  }
  return text;
}

std::string stacked(const std::vector<SceneRow>& rows, std::size_t width) {
  SceneNeeds needs;
  for (const SceneRow& row : rows) {
    needs.add(row.attempt, row.with);
    if (row.without) needs.add(row.attempt, *row.without);
  }
  const std::string before = block(rows, without_cordon, needs, width);
  const std::string after = block(rows, with_cordon, needs, width);
  return before.empty() ? after : "without Cordon\n" + before + "with Cordon\n" + after;
}

// "  cat ~/.ssh/id_ed25519 | DONE PLANTED-KEY | BLOCKED No such file or directory"
std::string side_by_side(const std::vector<SceneRow>& rows, std::size_t width) {
  constexpr std::string_view kRule = " | ";
  SceneNeeds left;
  SceneNeeds right;
  for (const SceneRow& row : rows) {
    right.add(row.attempt, row.with);
    if (row.without) left.add(row.attempt, *row.without);
  }
  const std::size_t taken = kGap + 2 * kRule.size() + left.verdict + right.verdict + 2;
  const auto [attempt, before, after] = share<3>(
      width > taken ? width - taken : 0, {right.attempt, std::max<std::size_t>(left.words, 14),
                                          std::max<std::size_t>(right.words, 14)});
  const std::string nothing(left.verdict + 1, ' ');
  std::string text = trimmed("  " + padded("", attempt) + std::string(kRule) +
                             padded("without Cordon", left.verdict + 1 + before) +
                             std::string(kRule) + "with Cordon");
  for (const SceneRow& row : rows) {
    text += "  " + padded(cut(row.attempt, attempt), attempt);
    text += kRule;
    text += row.without ? verdict_within(*row.without, left.verdict) + " " : nothing;
    text += padded(row.without ? words_within(*row.without, before) : "", before);
    text += kRule;
    text += trimmed(verdict_within(row.with, right.verdict) + " " + words_within(row.with, after));
  }
  return text;
}

// What did not go as designed, in a sentence of its own.
std::string complaints(const demo::Scenarios& scenarios, std::size_t width) {
  std::string text;
  for (const Scenario& scenario : scenarios) {
    if (scenario.behaved()) continue;
    const bool no_control = scenario.sight.as_designed && !scenario.has_control();
    const std::string_view why = no_control ? "it was not done without Cordon either"
                                            : std::string_view(scenario.sight.what);
    const std::string verdict = word_of(scenario);
    const std::string line = ": " + plain(scenario.title) + ": " + plain(why);
    text += tinted(STDOUT_FILENO, Tint::Bad, verdict) + cut(line, width - verdict.size()) + "\n";
  }
  return text.empty() ? text : "\n" + text;
}

}  // namespace

std::size_t scene_width() {
  const std::size_t columns = window_size().columns;
  return columns == 0 ? kPlainWidth : std::max(columns, kNarrowest);
}

std::string scene_text(const DemoRunner& runner, const PlayedAct& played, std::size_t width) {
  std::vector<SceneRow> rows;
  bool compared = false;
  for (const Scenario& scenario : played.scenarios) {
    SceneRow row{typed(runner, scenario), {}, ending_with(runner, scenario)};
    if (scenario.without) row.without = ending_without(runner, scenario);
    compared = compared || scenario.without;
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return {};
  // The last column stays free: a terminal may go on to the next line after it.
  const std::size_t columns = width - 1;
  const bool wide = compared && width >= kSideBySide;
  return "\n" + (wide ? side_by_side(rows, columns) : stacked(rows, columns)) +
         complaints(played.scenarios, columns);
}

std::string scene_opening_text(const DemoPanel& panel, std::size_t width) {
  const Policy& ceiling = panel.runner->ceiling().policy;
  const auto line = [&](std::string_view name, const std::string& value) {
    return cut(padded(std::string(name), 9) + plain(value), width - 1) + "\n";
  };
  return "Each attempt is made twice, without Cordon and with it, in a home made for it\n"
         "and removed at the end: ~ is that home. Beside each attempt stands what it\n"
         "printed, or (in brackets) what was seen on the host afterwards.\n\n" +
         line("Ceiling", "read " + joined_rules(ceiling.fs.read) + "; write " +
                             joined_rules(ceiling.fs.write) + "; deny " +
                             joined_rules(ceiling.fs.deny)) +
         line("Backend", panel.proof.enforcement.backend +
                             ", verified by a contained run; more: cordon demo --config-only");
}

std::string scene_end_text(const DemoScore& score) {
  const bool all = score.behaved == score.total;
  return "\n" +
         tinted(STDOUT_FILENO, all ? Tint::Good : Tint::Bad,
                std::to_string(score.behaved) + "/" + std::to_string(score.total) +
                    " scenarios behaved exactly as designed") +
         "\n\nTry it in a project of yours; cordon audit verify then has both on record:\n"
         "    cordon run -- sh -c 'echo hello > made.txt'  works: the project is yours\n"
         "    cordon run -- cat ~/.ssh/id_ed25519          fails: no such file inside\n";
}

}  // namespace cordon
