// The first process's clone, and carrying out the operations of Plan::build and Plan::seal in it.
// No allocation. A test program may bring a carry_out, a clone_sandbox and a send_ahead of its own
// (tests/omitted).
#pragma once

#include <memory>

#include "sandbox/native/forerunner.h"
#include "sandbox/native/prepared.h"
#include "sandbox/native/protocol.h"
#include "sys/calls.h"

namespace cordon::native {

// State that operations hand on to later ones.
struct BuildState {
  int ruleset = -1;  // Landlock rules collected so far
  int abi = 0;
  bool masks_ready = false;
  std::size_t next_source = 0;  // in Prepared::early_sources
  int resolver_datagrams = -1;  // sockets at 127.0.0.1:53, in network mode allow
  int resolver_streams = -1;
  int socket_source = -1;      // where ports are published: this end answers with sockets
  int socket_taker = -1;       // and this one asks for them
  bool system_bound = false;   // where another program bound the system: all of it is read-only
  bool inotify_bound = false;  // the user namespace has a bound of its own for inotify
  unsigned brought = 0;        // and how many objects it brought were put in their places so far
};

// A copy of this process in new namespaces, born in the v2 group `cgroup` if there is one. It goes
// on in the copy, with 0 for its number, as fork does.
sys::CloneResult clone_sandbox(const op::EnterNamespaces& namespaces, int cgroup);
// Begins with all of these namespaces before there is a plan; nothing where that cannot be done.
std::unique_ptr<Forerunner> send_ahead();

// 0, or -errno of the failing call.
int carry_out(const Op& operation, const Prepared& prepared, BuildState& state);
// What carries out the operations of a plan's first process: the function above, or one that knows
// what another program has done already.
using Builder = int (*)(const Op& operation, const Prepared& prepared, BuildState& state);

// Removes the names in the new root that exist only while it is built. 0 or -errno.
int remove_building_names(const BuildState& state);

// A file below the new root that no Landlock rule names. It exists until the root is sealed.
inline constexpr const char* kLandlockProbe = "/.landlock-probe";

}  // namespace cordon::native
