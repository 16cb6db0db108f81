// What the first process of a sandbox and the supervisor say to each other: fixed-size messages
// over one seqpacket socket. Nothing here owns memory, so it can be used between clone and exec.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "sys/sockets.h"

namespace cordon::native {

// Descriptors of the first process, the same in every run.
inline constexpr int kChannelFd = 3;
inline constexpr int kReleaseFd = 4;
inline constexpr int kLastFixedFd = 4;
// Descriptors of the command's process until it becomes the command; both close on exec.
inline constexpr int kCommandReportFd = 3;
inline constexpr int kCommandReleaseFd = 4;

// One group each for pids, memory and cpu under cgroup v1.
inline constexpr std::size_t kMostGroups = 3;
// A filter's listener, and in network mode allow the resolver's datagram socket and its listening
// one.
inline constexpr std::size_t kEgressDescriptors = 3;
// A socket, the pipe for the answer, a directory.
inline constexpr std::size_t kBindDescriptors = 3;
// With them, or alone, one end of a socket pair over which sockets of this network are asked for.
static_assert(kMostGroups <= sys::kMostPassed && kEgressDescriptors + 1 <= sys::kMostPassed &&
              kBindDescriptors <= sys::kMostPassed);

enum class Stage : std::uint32_t { Build, Confine, Seal, Execute };

// The identities of a process's user mnt pid net ipc uts and cgroup namespaces; zero: unknown.
using NamespaceIds = std::array<std::uint64_t, 7>;

// What was read back from inside, before the command was released.
struct Measured {
  NamespaceIds namespaces{};
  std::array<std::uint64_t, 5> capabilities{};  // inheritable permitted effective bounding ambient
  std::int32_t no_new_privileges = 0;
  std::int32_t seccomp_mode = 0;
  std::int32_t seccomp_filters = 0;
  std::int32_t landlock_read_before = 0;  // errno of an attempt before the restriction
  std::int32_t landlock_read = 0;         // errno of the same attempt after it
  std::int32_t landlock_signal = 0;       // errno of signalling the first process, after it
  // Asked only where no namespaces are entered: errnos of binding a TCP socket behind Landlock, of
  // making a socket that the filter for this network mode refuses, and of a call that nothing but
  // Cordon's own filter refuses.
  std::int32_t tcp_bind = 0;
  std::int32_t refused_socket = 0;
  std::int32_t filtered_call = 0;
  std::int32_t init_pid = 0;  // its own number, as it sees it
  std::uint64_t root_type = 0;
  std::uint64_t root_device = 0;
  std::uint64_t root_inode = 0;
  std::int32_t root_read_only = 0;
  std::int32_t mounts_checked = 0;
  std::int32_t wrong_mount = -1;     // index in Plan::build, negative if every mount is as planned
  std::uint64_t scratch_device = 0;  // of the private space, zero if there is none
  std::int32_t inotify_bound = 0;    // the run has a bound of its own for inotify
};

struct Message {
  enum class Kind : std::uint32_t {
    Failed,    // stage, index and error say which operation failed
    Terminal,  // carries the master of the sandbox's own pty
    Confined,  // everything is in force; the command waits to be released. It carries the filter's
               // listener, if there is one, in network mode allow the resolver's two sockets
               // where the sandbox has a network of its own, and
               // where ports are published the source of sockets
    Stopped,   // with a terminal: something but the supervisor stopped the command
    Reached,   // a bound that the kernel does not report was seen reached, or what the ipc
               // namespace holds has changed
    Ended,     // status and usage; every process of the sandbox but its first is dead and reaped
    Places,    // carries the private places that are gone with the run, one for each bit of index
    Begun,     // of a first process that another program started: where it is. It carries a pidfd
  };
  Kind kind = Kind::Failed;
  Stage stage = Stage::Build;
  std::uint32_t index = 0;
  std::int32_t error = 0;
  Measured measured;
  std::int32_t scratch_full = 0;
  std::int32_t pids_full = 0;
  std::int32_t cpu_spent = 0;       // a process ended at its processor time
  std::int32_t file_size_full = 0;  // a process ended at the size of a file
  std::uint64_t ipc_bytes = 0;
  std::int32_t wait_status = 0;
  std::uint64_t cpu_us = 0;
  std::uint64_t max_rss_bytes = 0;
};

// From the supervisor to the first process.
struct Order {
  enum class Kind : std::uint32_t {
    IdentityMapped,
    JoinGroups,  // carries the v1 groups of this run, for the command to join
    Signal,
    Bind,  // carries what sandbox_init.h says; the rest of the order is its own
  };
  Kind kind = Kind::Signal;
  std::int32_t signal = 0;
  std::uint32_t mask = 0;  // the caller's, for the modes of files it makes
  std::uint32_t address_size = 0;
  alignas(8) std::array<unsigned char, 128> address{};  // as large as any address is
};

// From the command's process to the first process.
struct CommandReport {
  Stage stage = Stage::Confine;
  std::uint32_t index = 0;
  std::int32_t error = 0;  // 0: confined
  std::int32_t landlock_read_before = 0;
  std::int32_t landlock_read = 0;
  std::int32_t landlock_signal = 0;
  std::int32_t tcp_bind = 0;
  std::int32_t refused_socket = 0;
  std::int32_t filtered_call = 0;
  std::int32_t listener = -1;  // of its filter, a descriptor of its own, if there is a broker
};

}  // namespace cordon::native
