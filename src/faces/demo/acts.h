// The acts of the demonstration. Each plays its scenarios on the stage and answers with what became
// of them. Act 1 tells what happens without a boundary and runs nothing.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "faces/demo/stage.h"

namespace cordon::demo {

using Scenarios = std::vector<Scenario>;

Scenarios play_nothing(Stage& stage);
Scenarios play_files(Stage& stage);
Scenarios play_links(Stage& stage);
Scenarios play_fork_bomb(Stage& stage);
Scenarios play_secrets(Stage& stage);
Scenarios play_exfiltration(Stage& stage);
Scenarios play_audit_tampering(Stage& stage);
Scenarios play_neighbours(Stage& stage);

struct Act {
  int number;
  std::string_view title;
  std::string_view story;  // lines, told before it is played
  Scenarios (*play)(Stage& stage);
};
std::span<const Act> acts();

}  // namespace cordon::demo
