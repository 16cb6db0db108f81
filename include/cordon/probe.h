// probe: what a backend can enforce on this host, found out by doing it.
#pragma once

#include "cordon/backend_kind.h"
#include "cordon/result.h"

namespace cordon {

// What a mechanism enforces, not what it accepts. A field that is not set counts as no.
struct Capabilities {
  BackendKind backend = BackendKind::Native;  // that was asked
  bool fs_read = false;                       // what may be read
  bool fs_write = false;                      // what may be written
  bool execute = false;                       // what may be executed
  bool net_block = false;                     // no network at all
  bool net_allow = false;                     // a network at all: some can only do without
  bool network_host_filtering = false;        // the hosts that are listed, and no other
  bool deny_paths_supported = false;          // a denied path below a granted one
  bool environment_scrub = false;             // an environment built from nothing
  bool tree_kill = false;                     // every process of a run ends with it
  bool pid_limit = false;                     // how many processes
  bool memory_limit = false;                  // how much memory
  bool syscalls = false;                      // a filter of system calls
  bool sessions = false;                      // several commands in one sandbox
};

// Tries it in processes of its own, which are gone when it returns. An error says what is missing,
// and its hint what to change on this host.
Result<Capabilities> probe(BackendKind kind);

}  // namespace cordon
