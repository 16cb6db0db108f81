// Cordon's own program inside an executor's sandbox: it confines itself as the plan says, tells the
// supervisor, waits to be measured from outside and released, and becomes the command.
#pragma once

namespace cordon::mxc {

// Returns only with a failure, as an exit status; nothing of the command ran then.
int run_inside();

}  // namespace cordon::mxc
