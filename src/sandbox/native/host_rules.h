// What a filter answers differently where a sandbox has no namespaces of its own. Landlock judges
// opening, making and removing files, signals and tracing; it does not judge who changes a file's
// mode, times, owner or attributes, who watches a directory, or who changes another process's
// limits. There the namespaces of the native backend hold, and here the filter must.
//
// The network. With no empty network behind it the filter has to leave no way to the host's:
//
//   none    no socket but a local one can be made.
//   allow   TCP sockets can be made, and only the broker connects: it never acts on the socket that
//           the command made, it puts another in its place. bind, listen and connect are asked of
//           it; Fast Open, which connects by sending, is refused by its flag as everywhere.
//           A datagram socket is asked of the broker too, which gives what leads to its resolver
//           and nowhere else (egress/local_sockets.h): were it a real one, the addresses of sendmsg
//           and sendmmsg could not be judged. sendto and recvfrom with an address are asked too,
//           and what a socket's addresses are: programs hear that a datagram leads nowhere, and
//           from whom an answer is. Nothing rests on that: an address whose lower half is zero
//           passes. Raw sockets, MPTCP, netlink and all other families and protocols are refused.
//           Options of IP are answered as if they were set: a stand-in has none, and on a connected
//           socket they are not needed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "plan/plan.h"
#include "sandbox/native/argument_rules.h"

namespace cordon {

struct SharedHostRule {
  std::uint32_t number;  // of the call
  BpfLabel target;
};

// These take the place of the table's decisions. Changing a mode, a time or an owner is asked of
// the broker; without one it is refused.
std::vector<SharedHostRule> write_shared_host_rules(BpfAssembler& assembler, Arch arch,
                                                    const Verdicts& verdicts,
                                                    const FilterProfile& profile);

}  // namespace cordon

namespace cordon::native {

// Hosts on which a sandbox cannot be built for a reason that the failing call does not tell: its
// errno is the same for many. Each is looked for by what it is made of and said by name, with the
// change that cures it.

// Looks, before anything is started, for what would fail later without saying why.
Result<void> check_host(const Plan& plan);

// Refuses devices that are none. A regular file at /dev/null, left by a careless `rm` or `mv`,
// would be mounted like the device, and what the command discards would be written to the host.
Result<void> check_devices(const Plan& plan);

// Replaces what an error of this operation says, if the cause is one of those known here.
void name_cause(const Op& operation, Error& error);

// Refuses writable grants on file systems that are mounted read-only. A mount cannot give back what
// the one below it withholds, so the command would fail at its first write.
Result<void> check_writable(const Plan& plan);

// Whether this process may open as many files as launching the plan takes.
Result<void> check_open_files(const Plan& plan);

// From the text of /proc/self/mountinfo: whether the root is the kernel's first one, which
// pivot_root refuses (EINVAL); what is mounted over parts of /proc, which makes the kernel refuse a
// fresh one in a user namespace (EPERM).
bool root_is_initramfs(std::string_view mountinfo);
std::string initramfs_cure();
std::vector<std::string> mounts_over_proc(std::string_view mountinfo);

// The mount point of the file system that `path` is on if it is mounted noexec, else empty.
std::string noexec_mount(const std::string& path, std::string_view mountinfo);
std::string read_mountinfo();

}  // namespace cordon::native
