// Signals as something to read, for verbs that supervise runs.
#pragma once

#include "base/fd.h"

namespace cordon {

// Blocks what the supervisor forwards and makes it readable. A hang-up that the caller ignores
// (nohup) stays ignored. A reader that goes away is told by the failing write, not by SIGPIPE.
Fd watch_signals();

}  // namespace cordon
