#include "faces/loop/screen_model.h"

#include <algorithm>

#include "base/text.h"
#include "faces/cli/closing_lines.h"
#include "faces/cli/console.h"
#include "faces/loop/displays.h"
#include "policy/agents.h"

namespace cordon::loop {
namespace {

constexpr std::size_t kKeptLines = 2000;
constexpr std::size_t kKeptDenials = 3;
constexpr std::size_t kSmallHeight = 8;

std::string clock_of(std::uint64_t seconds) {
  const auto two = [](std::uint64_t value) {
    return (value < 10 ? "0" : "") + std::to_string(value);
  };
  return two(seconds / 3600) + ":" + two(seconds / 60 % 60) + ":" + two(seconds % 60);
}

ScreenStyle style_of(FeatureState state) {
  switch (state) {
    case FeatureState::Pending:
      return ScreenStyle::Plain;
    case FeatureState::Done:
      return ScreenStyle::Good;
    case FeatureState::Failed:
      return ScreenStyle::Bad;
    case FeatureState::Skipped:
      return ScreenStyle::Quiet;
  }
  return ScreenStyle::Plain;
}

const char* mark_of(FeatureState state) {
  switch (state) {
    case FeatureState::Pending:
      return "[ ]";
    case FeatureState::Done:
      return "[x]";
    case FeatureState::Failed:
      return "[!]";
    case FeatureState::Skipped:
      return "[-]";
  }
  return "[ ]";
}

}  // namespace

// Characters from the scripts that terminals draw twice as wide begin at U+1100; taking all of them
// as wide leaves room at worst.
std::string fit(std::string_view text, std::size_t columns) {
  constexpr unsigned char kThreeBytes = 0xE1;
  std::size_t used = 0;
  std::size_t end = 0;
  while (end < text.size()) {
    const auto first = static_cast<unsigned char>(text[end]);
    std::size_t length = 1;
    while (end + length < text.size() &&
           (static_cast<unsigned char>(text[end + length]) & 0xC0U) == 0x80U) {
      ++length;
    }
    const std::size_t width = first >= kThreeBytes ? 2 : 1;
    if (used + width > columns) break;
    used += width;
    end += length;
  }
  return std::string(text.substr(0, end));
}

void ScreenModel::log(std::string line) {
  log_.push_back(std::move(line));
  if (log_.size() > kKeptLines) log_.pop_front();
}

void ScreenModel::update(const FeatureProgress& progress) {
  for (Row& row : rows_) {
    if (row.progress.id == progress.id) row.progress = progress;
  }
}

void ScreenModel::apply(const LoopEvent& event) {
  const auto* started = std::get_if<LoopStarted>(&event);
  // What it says stands above already, but for the credential and what is missing.
  if (started == nullptr) {
    for (std::string& line : lines_of(event)) log(std::move(line));
  } else {
    if (started->credential) log(describe(*started->credential));
    for (const std::string& warning : started->warnings) log("warning: " + sanitize(warning));
  }
  if (started != nullptr) {
    mode_ = Mode::Running;
    project_ = sanitize(started->project);
    agent_ = sanitize(started->agent);
    mechanism_ = mechanism_line(started->enforcement);
    rows_.clear();
    for (std::size_t i = 0; i < started->features.size(); ++i) {
      rows_.push_back({started->features[i], sanitize(started->titles[i])});
      before_.tokens += started->features[i].spent.tokens;
      before_.micro_dollars += started->features[i].spent.micro_dollars;
    }
  } else if (const auto* baseline = std::get_if<BaselineStarted>(&event)) {
    current_ = baseline->id;
  } else if (const auto* attempt = std::get_if<AttemptStarted>(&event)) {
    current_ = attempt->id;
    for (Row& row : rows_) {
      if (row.progress.id == current_) row.progress.attempts = attempt->attempt;
    }
  } else if (const auto* told = std::get_if<AgentTold>(&event)) {
    if (const auto* spent = std::get_if<Spent>(&told->event)) spent_ = *spent;
  } else if (const auto* agent = std::get_if<AgentEnded>(&event)) {
    before_.tokens += spent_.tokens;
    before_.micro_dollars += spent_.micro_dollars;
    spent_ = {};
    for (const Denial& denial : agent->denials) {
      std::string text = sanitize(denial_text(denial));
      std::erase(denials_, text);
      denials_.push_back(std::move(text));
      if (denials_.size() > kKeptDenials) denials_.pop_front();
    }
  } else if (const auto* feature = std::get_if<FeatureEnded>(&event)) {
    update(feature->progress);
    current_.clear();
  } else if (std::holds_alternative<Paused>(event)) {
    mode_ = Mode::Paused;
    pausing_ = false;
  } else if (std::holds_alternative<Resumed>(event)) {
    mode_ = Mode::Running;
  } else if (const auto* end = std::get_if<LoopEnded>(&event)) {
    mode_ = Mode::Ended;
    confirming_ = false;
    current_.clear();
    notice_ = end_line(*end);
    complete_ = end->why == LoopEnded::Why::Complete;
    if (end->why == LoopEnded::Why::Uncontained) mechanism_ = "containment is in doubt";
    for (const FeatureProgress& progress : end->features) update(progress);
  }
}

ScreenAction ScreenModel::press(int key) {
  if (confirming_) {
    if (key != 'y' && key != 'n' && key != '\x1b') return ScreenAction::None;
    confirming_ = false;
    return key == 'y' ? ScreenAction::Quit : ScreenAction::None;
  }
  switch (key) {
    case 'q':
      if (mode_ == Mode::Ended) return ScreenAction::Leave;
      if (mode_ == Mode::Probing) return ScreenAction::Quit;
      confirming_ = true;
      return ScreenAction::None;
    case 'p':
      if (mode_ == Mode::Paused || pausing_) {
        pausing_ = false;
        return ScreenAction::Resume;
      }
      if (mode_ != Mode::Running) return ScreenAction::None;
      pausing_ = true;
      return ScreenAction::Pause;
    case 's':
      return mode_ == Mode::Running || mode_ == Mode::Paused ? ScreenAction::Skip
                                                             : ScreenAction::None;
    default:
      return ScreenAction::None;
  }
}

std::vector<ScreenLine> ScreenModel::header(std::size_t width, std::uint64_t seconds) const {
  std::string first = "cordon loop  " + clock_of(seconds);
  const auto done = std::ranges::count_if(
      rows_, [](const Row& row) { return row.progress.state == FeatureState::Done; });
  if (!rows_.empty()) {
    first += "  " + std::to_string(done) + "/" + std::to_string(rows_.size()) + " done";
  }
  if (!agent_.empty()) first += "  " + agent_;
  const Spent all{before_.tokens + spent_.tokens, before_.micro_dollars + spent_.micro_dollars};
  if (const std::string spent = spent_words(all); !spent.empty()) first += "  " + spent;
  if (!project_.empty()) first += "  " + project_;
  return {{fit(first, width), ScreenStyle::Title}, {fit(mechanism_, width), ScreenStyle::Quiet}};
}

std::vector<ScreenLine> ScreenModel::features(std::size_t width, std::size_t most) const {
  std::size_t current = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].progress.id == current_) current = i;
  }
  // The one that is worked on stays in view.
  const std::size_t first = current < most ? 0 : current - most + 1;
  std::vector<ScreenLine> lines;
  for (std::size_t i = first; i < rows_.size() && lines.size() < most; ++i) {
    const FeatureProgress& progress = rows_[i].progress;
    const bool now = !current_.empty() && i == current;
    std::string text = std::string(now ? ">" : " ") + mark_of(progress.state) + " " + progress.id +
                       ": " + rows_[i].title;
    if (progress.attempts > 1) text += " (" + std::to_string(progress.attempts) + ")";
    lines.push_back({fit(text, width), now ? ScreenStyle::Current : style_of(progress.state)});
  }
  return lines;
}

std::vector<std::string> ScreenModel::last_lines(std::size_t width, std::size_t most) const {
  std::deque<std::string> shown;
  for (auto entry = log_.rbegin(); entry != log_.rend() && shown.size() < most; ++entry) {
    std::vector<std::string> parts;
    std::string_view rest = *entry;
    do {
      parts.push_back(fit(rest, width));
      if (parts.back().empty()) break;
      rest.remove_prefix(parts.back().size());
    } while (!rest.empty());
    shown.insert(shown.begin(), parts.begin(), parts.end());
  }
  while (shown.size() > most) shown.pop_front();
  return {shown.begin(), shown.end()};
}

ScreenLine ScreenModel::keys() const {
  if (confirming_) return {"end the agent and the loop?  y yes  n no", ScreenStyle::Bad};
  switch (mode_) {
    case Mode::Probing:
      return {"q quit", ScreenStyle::Keys};
    case Mode::Running:
      return {pausing_ ? "p go on  s skip  q quit  (pausing after this attempt)"
                       : "p pause  s skip  q quit",
              ScreenStyle::Keys};
    case Mode::Paused:
      return {"p go on  s skip  q quit  (paused)", ScreenStyle::Keys};
    case Mode::Ended:
      return {"q leave  " + notice_, complete_ ? ScreenStyle::Good : ScreenStyle::Bad};
  }
  return {};
}

std::vector<ScreenLine> ScreenModel::lines(std::size_t width, std::size_t height,
                                           std::uint64_t seconds) const {
  std::vector<ScreenLine> lines = header(width, seconds);
  if (height >= kSmallHeight) {
    for (ScreenLine& line : features(width, std::max<std::size_t>(1, height / 3))) {
      lines.push_back(std::move(line));
    }
    for (const std::string& denial : denials_) {
      lines.push_back({fit(denial, width), ScreenStyle::Bad});
    }
    lines.push_back({std::string(width, '-'), ScreenStyle::Quiet});
  }
  const std::size_t room = height > lines.size() + 1 ? height - lines.size() - 1 : 0;
  for (std::string& line : last_lines(width, room)) {
    lines.push_back({std::move(line), ScreenStyle::Plain});
  }
  lines.resize(height > 0 ? height - 1 : 0);
  if (height > 0) {
    ScreenLine last = keys();
    last.text = fit(last.text, width);
    lines.push_back(std::move(last));
  }
  return lines;
}

}  // namespace cordon::loop
