// The streamable HTTP transport, for both eras, on the listener's address alone.
#pragma once

#include <string>

#include "base/result.h"
#include "mcp/http/listener.h"
#include "mcp/server.h"

namespace cordon::mcp {

// Serves until SIGINT, SIGTERM or SIGHUP, then cancels every call. Call it from the main thread,
// before others are started. As with serve_stdio, handlers that do not heed their cancellation are
// not waited for.
Result<int> serve_http(Server& server, HttpListener listener, std::string token);

}  // namespace cordon::mcp
