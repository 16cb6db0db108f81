// One screen for each act: a line for each attempt, with what it printed and how it ended, without
// Cordon and with it. Side by side where the terminal is wide enough for three columns, otherwise
// one block under the other. Nothing here is told that is not in a report or was seen on the host.
#pragma once

#include <cstddef>
#include <string>

#include "faces/demo/demo_view.h"

namespace cordon {

// Columns of the terminal that answers go to; 80 without one.
std::size_t scene_width();

std::string scene_opening_text(const DemoPanel& panel, std::size_t width);
std::string scene_text(const demo::DemoRunner& runner, const PlayedAct& played, std::size_t width);
std::string scene_end_text(const DemoScore& score);

}  // namespace cordon
