// A terminal for a command whose first process is not Cordon's.
#pragma once

#include "backend/backend.h"

namespace cordon::mxc {

struct Terminal {
  Fd master;
  Fd slave;
};
// Of the host's, with the size of the caller's window; both invalid if none is asked for. The
// suspend key is off: nobody who could tell the supervisor would see the command stop.
Result<Terminal> open_terminal(const CommandStreams& streams);

}  // namespace cordon::mxc
