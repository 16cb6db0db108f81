// The gate: a process that is given sockets, configuration and secrets over one descriptor and
// gives requests back. See gate/protocol.h for what is said, and exchange.h for what becomes of a
// request.
#pragma once

namespace cordon::gate {

// The whole life of the process: reads the configuration from kControl, confines itself, serves,
// and ends when the control socket does. The exit status: 0, or 1 if it could not be set up, which
// the supervisor was told.
int serve();

}  // namespace cordon::gate
