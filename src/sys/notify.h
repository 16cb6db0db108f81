// Answering system calls of other processes: the kernel's seccomp notifications, and reading the
// process that waits for an answer. All answer -errno on failure and allocate nothing.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace cordon::sys {

struct Notification {
  std::uint64_t id = 0;
  pid_t thread = 0;  // as this process's pid namespace numbers it
  int call = 0;
  std::uint64_t arguments[6] = {};
};

// A filter whose notifications come out of the descriptor that is returned. Only a fatal signal
// ends the wait of a call that was received: a timer signal would otherwise restart it for ever.
int install_filter_with_listener(const void* program, unsigned short length);
// True if this kernel can do that (5.19). Nothing is installed.
bool can_answer_calls();
// True if the descriptor is the listener of a filter: nothing else knows the request.
bool is_listener(int fd);
// Lets the answering thread and the waiting one change places on one processor. Only faster.
void wake_synchronously(int listener);

// Blocks until there is one. -ENOENT if its process died meanwhile.
int receive_notification(int listener, Notification& notification);
// True while the call still waits: what was read of the process before is then really its own.
bool is_waiting(int listener, std::uint64_t id);
// The call answers 0, or fails with `error`.
int answer_notification(int listener, std::uint64_t id, int error);
// The call answers `value`.
int answer_with_value(int listener, std::uint64_t id, std::int64_t value);
// The kernel carries the call out after all. By then its arguments and whatever they point to may
// be others than were looked at: only for a call that is harmless whatever they are.
int let_continue(int listener, std::uint64_t id);

enum class CloseOnExec { No, Yes };
// Puts a copy of `source` at `target` of the waiting process, closing what was there.
int put_descriptor(int listener, std::uint64_t id, int source, int target, CloseOnExec close);
// Adds a copy of `source` to the waiting process and answers the call with its number, in one step:
// a process that dies meanwhile keeps no descriptor that nobody told it of.
int answer_with_descriptor(int listener, std::uint64_t id, int source, CloseOnExec close);

// A pidfd that leads to the descriptor table of this very thread.
int open_thread(pid_t thread);
// The same before Linux 6.9: through the thread's group, if the two share one table; else -EPERM.
int open_thread_by_group(pid_t thread);
int copy_descriptor(int pidfd, int fd);
int open_memory(pid_t thread);  // for pwrite
// Bytes copied; fewer than asked if the rest cannot be read.
ssize_t read_memory(pid_t thread, std::uint64_t address, void* into, std::size_t size);

// The file that a local socket was bound to, whatever its name leads to by now. Needs the rights of
// the socket's network namespace.
int open_bound_file(int socket);

// The network namespace a socket lives in, whatever process holds it.
std::optional<std::uint64_t> network_of(int socket);

}  // namespace cordon::sys
