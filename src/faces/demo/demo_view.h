// The words of `cordon demo`, for people and for machines. Plain ASCII of our own; what came from a
// command is sanitized.
#pragma once

#include <string>
#include <vector>

#include "faces/demo/acts.h"

namespace cordon {

// What is configured and in force, proven by one contained run.
struct DemoPanel {
  const demo::DemoRunner* runner = nullptr;
  Report proof;
  bool run_code = false;  // of this user's own `cordon mcp`
};

struct PlayedAct {
  const demo::Act* act = nullptr;
  demo::Scenarios scenarios;
};

struct DemoScore {
  std::size_t behaved = 0;
  std::size_t total = 0;
};
DemoScore demo_score(const std::vector<PlayedAct>& played);
std::vector<std::string> as_written(const std::vector<PathRule>& rules);
// "~/Documents, ~/Downloads", or "-".
std::string joined_rules(const std::vector<PathRule>& rules);

std::string demo_panel_text(const DemoPanel& panel);
std::string demo_act_text(const demo::Act& act);
std::string demo_scenario_text(const demo::DemoRunner& runner, const demo::Scenario& scenario);
std::string demo_end_text(const DemoScore& score);
std::string demo_json(const DemoPanel& panel, const std::vector<PlayedAct>& played);

}  // namespace cordon
