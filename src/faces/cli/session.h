// The terminal and the signals of the process that runs a command for somebody.
#pragma once

#include "base/fd.h"

namespace cordon {

// True if all three standard streams are terminals.
bool at_a_terminal();
// Blocks what the supervisor forwards and makes it readable. A hang-up that the caller ignores
// (nohup) stays ignored.
Fd watch_signals();

}  // namespace cordon
