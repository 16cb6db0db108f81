// The terminal and the signals of the process that runs a command for somebody.
#pragma once

#include "base/fd.h"

namespace cordon {

// A missing 0, 1 or 2 would be taken by the next file that is opened, and a report or a command's
// stream would be written into it. Opens what is missing; false if that cannot be done.
bool open_standard_streams();
// True if all three standard streams are terminals.
bool at_a_terminal();
// Blocks what the supervisor forwards and makes it readable. A hang-up that the caller ignores
// (nohup) stays ignored.
Fd watch_signals();

}  // namespace cordon
