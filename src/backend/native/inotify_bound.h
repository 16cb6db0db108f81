// bound_inotify: a bound for inotify that is the run's own.
#pragma once

namespace cordon::native {

// The kernel counts instances and watches per user, and per user namespace as well: what is counted
// in a namespace counts in those above it too. With half of the user's bound for this namespace, a
// run that takes all it can get leaves the other half to the user's editors and file managers.
//
// In the first process, with its capabilities and the host's /proc. 0, or -errno where /proc/sys
// cannot be written, as in most containers. No allocation.
int bound_inotify();

}  // namespace cordon::native
