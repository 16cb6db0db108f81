// The server of one session of the command line, and what its clients send it.
//
// A client connects, hands over its three streams, and asks. The server runs the command on those
// streams and says on them what `cordon run` would say, so that a client has nothing to do but to
// wait for the status, and to pass on its signals. When a client is gone, its command is ended.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "config/node.h"
#include "faces/cli/session_place.h"
#include "run/open_session.h"

namespace cordon {

// Serves until the session is over.
int serve_session(OpenSession& session, SessionPlace& place, const std::string& handle);

struct SessionAnswer {
  int status = 0;
  std::string report;  // if the request has `report`; empty: the server does not know how
};

// Sends `request`, which names what is asked in `ask`: "exec", "show" or "stop". Waits for the
// answer and passes on the signals that come meanwhile. An error if the server is gone.
Result<SessionAnswer> ask_session(int connection, const Node& request, int signals);

}  // namespace cordon
