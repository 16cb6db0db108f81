// What processes of a sandbox do that began as copies of the caller's. No allocation.
#pragma once

#include <cstdint>
#include <string_view>

#include "sandbox/native/build.h"
#include "sandbox/native/prepared.h"

namespace cordon::native {

// The number of a limit by the name it has in a plan; -1 for a name that is none.
int resource_of(std::string_view name);

// The caller's handlers are gone, but what it ignored or blocked would still be inherited.
void default_signals();

struct TreeUsage {
  std::uint64_t cpu_us = 0;
  std::uint64_t max_rss_bytes = 0;
};
// In the first process of a pid namespace: kills and reaps everything else in it, every orphan
// being its child. False if something may still live.
bool end_the_rest(TreeUsage& used);

}  // namespace cordon::native

namespace cordon::sys {

// Bind calls of the command that the supervisor lets be made inside. Each is made by a short-lived
// child of the init with the command's own rights: its identity, its view of files, its Landlock
// rules, no capability. The supervisor has more of all of these, so it cannot make the call itself.

struct Passed;
}  // namespace cordon::sys

namespace cordon::native {

struct Order;

// In the init. Closes what was passed. `ruleset` is negative without Landlock. Whatever
// fails is told to the supervisor by the pipe for the answer, or by its end.
void bind_in_sandbox(const Order& order, const sys::Passed& passed, int ruleset);

// In the supervisor, from any thread: sends the order and waits for its errno, 0 if it was done.
// `directory` is negative if the address names no file.
int ask_for_bind(int channel, int socket, int directory, const Order& order);

// Pid 1 of a sandbox: it builds the root, starts the command confined, reads back what is in force,
// reaps, forwards signals and ends with the supervisor. No allocation, no lock, no return.

struct SandboxInitFds {
  int in, out, err;  // the command's streams; ignored with a terminal
  int channel;
  int release;
  int lifetime_pipe = -1;  // the end of it ends the sandbox, where the kernel does not
};

[[noreturn]] void run_sandbox_init(const Prepared& prepared, const SandboxInitFds& fds,
                                   Builder builder);

}  // namespace cordon::native
