// The two displays that write lines. Both are driven by the same events; what comes from an agent
// is sanitized here.
#pragma once

#include <functional>
#include <string_view>

#include "faces/loop/events.h"

namespace cordon::loop {

using WriteLine = std::function<void(std::string_view line)>;  // without its end

// For people: a terminal that is no screen, a pipe, a log.
class PlainDisplay final : public Display {
 public:
  explicit PlainDisplay(WriteLine write) : write_(std::move(write)) {}
  void show(const LoopEvent& event) override;

 private:
  WriteLine write_;
};

// One JSON document a line: {"event": ...}.
class JsonDisplay final : public Display {
 public:
  explicit JsonDisplay(WriteLine write) : write_(std::move(write)) {}
  void show(const LoopEvent& event) override;

 private:
  WriteLine write_;
};

// "contained by native, network none: namespaces, landlock, ...": what is in force, what matters
// most first, since a narrow screen cuts the rest.
std::string mechanism_line(const Enforcement& enforcement);
// "1500 tokens, $0.25"; empty if nothing was told.
std::string spent_words(const Spent& spent);
// What all attempts took together: "3 attempts, 4m, 1500 tokens, $0.25"; empty without any.
std::string totals_line(const std::vector<FeatureProgress>& features);
// How the loop ended, in the words of its kind of failure: "containment could not be set up: ...".
std::string end_line(const LoopEnded& end);
// Lines of an event for people, sanitized; none for what only machines want.
std::vector<std::string> lines_of(const LoopEvent& event);

}  // namespace cordon::loop
