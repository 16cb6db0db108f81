// ExecChild: one command in the sandbox of a session, from its start to its end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cordon/runner.h"
#include "sandbox/backend.h"
#include "sandbox/session/protocol.h"

namespace cordon::session {

struct ExecStart {
  // Ends the whole session, if what came of the command cannot be ended alone.
  Cancel end_session;
  std::string cwd;                       // as it is called inside; empty: where the session started
  std::vector<std::string> environment;  // NAME=VALUE, beside the session's own
  std::vector<std::string> argv;
};

// Hands a command to the spawner at the other end of `spawner`. That it was started, or why not, is
// an event of the child; so is the end of the whole sandbox. `init` is the sandbox's first process.
Result<std::unique_ptr<Child>> start_in_session(int spawner, const ExecStart& start,
                                                const CommandStreams& streams, pid_t init);

}  // namespace cordon::session
