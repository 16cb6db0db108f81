// One scenario: what was asked for, what the design says becomes of it, and what did. A verdict is
// never taken from the boundary's own word: the host is looked at afterwards.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cordon/runner.h"

namespace cordon::demo {

// How the command is to end.
enum class Expected {
  Allowed,  // it succeeds
  Blocked,  // it runs and fails
  Stopped,  // it runs until a limit ends it
};
std::string_view name_of(Expected expected);

// What a contained command asks for.
struct Attempt {
  std::vector<std::string> argv;
  std::vector<std::string> read;
  std::vector<std::string> write;
  std::optional<std::uint64_t> wall_ms;  // absent: as long as the ceiling permits
};

// What the host looks like afterwards.
struct Sight {
  bool as_designed = false;
  std::string what;
};

struct Scenario {
  std::string title;
  Attempt attempt;
  Expected expected = Expected::Allowed;
  std::optional<Report> report;  // absent: nothing was run
  Sight sight;

  // The command was started, ended as expected, and the host agrees. A refusal to start it is no
  // containment: nothing was shown.
  [[nodiscard]] bool behaved() const;
  // How it ended, in a few words.
  [[nodiscard]] std::string verdict() const;
};

}  // namespace cordon::demo
