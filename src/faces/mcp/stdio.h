// The stdio transport: one client, one message per line.
#pragma once

#include "base/fd.h"
#include "base/result.h"
#include "faces/mcp/server.h"

namespace cordon::mcp {

// The signals that end a server, as a descriptor.

// Readable after SIGINT, SIGTERM or SIGHUP. Blocks these in the calling thread and in those it
// starts from now on, and SIGPIPE too: a peer or a standard error that is gone is no reason to end.
Fd watch_stop_signals();

// Takes the protocol off descriptors 0 and 1, so that no child can inherit it and no stray print
// can break it: afterwards 0 is /dev/null and 1 is standard error.
struct StdioPipes {
  Fd in;
  Fd out;
};
Result<StdioPipes> take_standard_streams();

// Serves until the client closes its end, dies, or sends SIGINT, SIGTERM or SIGHUP; then cancels
// every call and waits for them. The status for the process: 0, or 1 if the client talked nonsense.
// Call it from the main thread, before others are started: it blocks these signals for good.
//
// Handlers that do not heed their cancellation are not waited for: the process ends from within
// this function, at most a second and a half after the end of the client.
[[nodiscard]] int serve_stdio(Server& server, StdioPipes pipes);

}  // namespace cordon::mcp
