// ScreenModel: what a full-screen display shows, and what its keys mean, without a terminal. Events
// and keys go in; lines of exactly the asked size come out.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "faces/loop/events.h"

namespace cordon::loop {

enum class ScreenStyle { Plain, Title, Quiet, Good, Bad, Current, Keys };

struct ScreenLine {
  std::string text;  // sanitized, at most as wide as was asked for
  ScreenStyle style = ScreenStyle::Plain;
};

// What a key asks of the loop.
enum class ScreenAction { None, Pause, Resume, Skip, Quit, Leave };

class ScreenModel {
 public:
  void apply(const LoopEvent& event);
  // While agents work, leaving needs one confirmation; it is asked for once however often the key
  // is pressed.
  ScreenAction press(int key);
  // Exactly `height` lines.
  [[nodiscard]] std::vector<ScreenLine> lines(std::size_t width, std::size_t height,
                                              std::uint64_t seconds) const;
  [[nodiscard]] bool ended() const { return mode_ == Mode::Ended; }

 private:
  enum class Mode { Probing, Running, Paused, Ended };
  struct Row {
    FeatureProgress progress;
    std::string title;
  };

  void update(const FeatureProgress& progress);
  void log(std::string line);
  [[nodiscard]] std::vector<ScreenLine> header(std::size_t width, std::uint64_t seconds) const;
  [[nodiscard]] std::vector<ScreenLine> features(std::size_t width, std::size_t most) const;
  // The end of the log, long lines over several.
  [[nodiscard]] std::vector<std::string> last_lines(std::size_t width, std::size_t most) const;
  [[nodiscard]] ScreenLine keys() const;

  Mode mode_ = Mode::Probing;
  bool confirming_ = false;
  bool pausing_ = false;  // asked for, and not yet reached
  std::string project_;
  std::string agent_;
  std::string mechanism_ = "containment is being probed";
  std::string notice_;
  bool complete_ = false;
  std::vector<Row> rows_;
  std::string current_;
  std::deque<std::string> log_;
  std::deque<std::string> denials_;
  Spent before_;  // by all attempts that are over, of earlier loops of this plan too
  Spent spent_;   // by the one that is not
};

// The beginning of `text` that takes at most `columns` on a terminal.
std::string fit(std::string_view text, std::size_t columns);

}  // namespace cordon::loop
