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
//           and nowhere else (egress/name_sockets.h): were it a real one, the addresses of sendmsg
//           and sendmmsg could not be judged. sendto and recvfrom with an address are asked too,
//           and what a socket's addresses are: programs hear that a datagram leads nowhere, and
//           from whom an answer is. Nothing rests on that: an address whose lower half is zero
//           passes. Raw sockets, MPTCP, netlink and all other families and protocols are refused.
//           Options of IP are answered as if they were set: a stand-in has none, and on a connected
//           socket they are not needed.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/native/argument_rules.h"

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
