// The signals that end a server, as a descriptor.
#pragma once

#include "base/fd.h"

namespace cordon::mcp {

// Readable after SIGINT, SIGTERM or SIGHUP. Blocks these in the calling thread and in those it
// starts from now on, and SIGPIPE too: a peer or a standard error that is gone is no reason to end.
Fd watch_stop_signals();

}  // namespace cordon::mcp
