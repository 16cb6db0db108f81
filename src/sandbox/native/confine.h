// What the command's process does to itself, one operation of Plan::confine at a time. No
// allocation. A test program may bring a confine and a join_group of its own (tests/omitted).
#pragma once

#include "sandbox/native/prepared.h"
#include "sandbox/native/protocol.h"

namespace cordon::native {

// bound_inotify: a bound for inotify that is the run's own.

// The kernel counts instances and watches per user, and per user namespace as well: what is counted
// in a namespace counts in those above it too. With half of the user's bound for this namespace, a
// run that takes all it can get leaves the other half to the user's editors and file managers.
//
// In the first process, with its capabilities and the host's /proc. 0, or -errno where /proc/sys
// cannot be written, as in most containers. No allocation.
int bound_inotify();

// The same for signals that wait, of which each POSIX timer holds one: with none left the user's
// programs outside can make no timer and queue no signal. Here the limit of a process is compared
// with what all processes of the user in its namespace hold together, so half of it bounds the run;
// without a namespace, what the user holds in all. 0 or -errno.
int bound_signals();

// Scope: what stands for a pid namespace where there is none. A process that enters one can signal
// what descends from it and nothing else, so that kill(-1) reaches its sandbox and nobody beside
// it; and it adopts every orphan of its sandbox. No allocation.

// 0, or -errno. Not before this has succeeded may the caller send a signal to all. It is proved by
// an attempt on the parent, which could be signalled before.
int scope_processes();

// 0, or -errno of the failing call. `ruleset` is negative where Landlock is accepted as missing.
int confine(const Op& operation, const Prepared& prepared, int ruleset, CommandReport& report);

// Moves this process into a v1 group, a descriptor of its list of processes. 0 or -EIO.
int join_group(int group);

// Reading the file that no rule of Landlock names: 0 or the errno.
int read_landlock_probe(const Prepared& prepared);

}  // namespace cordon::native
