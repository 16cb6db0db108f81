// The acts of the demonstration. Each plays its scenarios with the runner and answers with what
// became of them. Act 1 tells what happens without a boundary and runs nothing.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "faces/demo/demo_runner.h"

namespace cordon::demo {

using Scenarios = std::vector<Scenario>;

Scenarios play_nothing(DemoRunner& runner);
Scenarios play_files(DemoRunner& runner);
Scenarios play_links(DemoRunner& runner);
Scenarios play_fork_bomb(DemoRunner& runner);
Scenarios play_secrets(DemoRunner& runner);
Scenarios play_exfiltration(DemoRunner& runner);
Scenarios play_audit_tampering(DemoRunner& runner);
Scenarios play_neighbours(DemoRunner& runner);

struct Act {
  int number;
  std::string_view title;
  std::string_view story;  // lines, told before it is played
  Scenarios (*play)(DemoRunner& runner);
};
std::span<const Act> acts();

}  // namespace cordon::demo
