#include "sandbox/native/argument_rules.h"

#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <fcntl.h>

#include <array>
#include <cerrno>

namespace cordon {
namespace {

// Every new-namespace flag that clone can carry; its low byte is a signal, so CLONE_NEWTIME is
// not among them.
constexpr std::uint32_t kNamespaceFlags = 0x7e020000;

// Linux, linux32, each also with an old kernel's version number, without address randomisation
// (it weakens only the caller; sanitizers and some runtimes start again with it), and the query.
// Not READ_IMPLIES_EXEC or a foreign system's domain.
constexpr std::initializer_list<std::uint32_t> kPersonalities = {0x0,     0x8,     0x20000,
                                                                 0x20008, 0x40000, 0xffffffff};

BpfLabel write_clone(BpfAssembler& a, const Verdicts& v) {
  return a.load_argument(0, a.if_any_bit(kNamespaceFlags, v.refuse, v.allow));
}

BpfLabel write_ioctl(BpfAssembler& a, const Verdicts& v, NetMode net) {
  const BpfLabel terminal = a.if_one_of(kRefusedTerminalRequests, v.refuse, v.allow);
  switch (net) {
    case NetMode::None:
    case NetMode::Open:
      return a.load_argument(1, terminal);
    case NetMode::Allow: {
      const BpfLabel below = a.if_at_least(kLastInterfaceRequest + 1, terminal, v.refuse);
      return a.load_argument(1, a.if_at_least(kFirstInterfaceRequest, below, terminal));
    }
  }
  return v.refuse;
}

BpfLabel write_mode(BpfAssembler& a, const Verdicts& v, unsigned mode_index) {
  return a.load_argument(mode_index, a.if_any_bit(kOwnersRights, v.refuse, v.allow));
}

// Without one of these the mode is not looked at and may be anything.
constexpr std::uint32_t kCreates = O_CREAT | (O_TMPFILE & ~O_DIRECTORY);

BpfLabel write_open(BpfAssembler& a, const Verdicts& v, unsigned flags_index) {
  const BpfLabel mode = write_mode(a, v, flags_index + 1);
  return a.load_argument(flags_index, a.if_any_bit(kCreates, mode, v.allow));
}

// Devices are refused: a node made in a writable grant would outlive the run on the host.
BpfLabel write_make_node(BpfAssembler& a, const Verdicts& v, unsigned mode_index) {
  // The type comes last, so that both forms of the call share it.
  const BpfLabel type = a.if_one_of({S_IFSOCK, S_IFIFO, S_IFREG, 0}, v.allow, v.refuse);
  return a.load_argument(mode_index,
                         a.if_any_bit(kOwnersRights, v.refuse, a.keep_bits(S_IFMT, type)));
}

// The same user's, so the kernel would let it be changed. It has one thread, and no other number
// leads to it: there are no pid namespaces inside.
constexpr std::uint32_t kInit = 1;

BpfLabel write_of_process(BpfAssembler& a, const Verdicts& v) {
  return a.load_argument(0, a.if_equal(kInit, v.refuse, v.allow));
}

// Of a process, of a process group (at a terminal the init leads one), of a user: the last is
// everything in the sandbox, the init too.
BpfLabel write_priority(BpfAssembler& a, const Verdicts& v, std::uint32_t of_process) {
  const BpfLabel who = a.load_argument(1, a.if_equal(kInit, v.refuse, v.allow));
  const BpfLabel below = a.if_at_least(of_process + 2, v.refuse, who);
  return a.load_argument(0, of_process == 0 ? below : a.if_at_least(of_process, below, v.refuse));
}

constexpr std::uint32_t kPriorityOfProcess = 0;
constexpr std::uint32_t kIoPriorityOfProcess = 1;

// F_SETLEASE: taken on a file that is only granted to be read, it keeps the host's programs from
// opening that file for writing until a time limit of the kernel.
constexpr std::uint32_t kSetLease = 1024;

BpfLabel write_fcntl(BpfAssembler& a, const Verdicts& v) {
  return a.load_argument(1, a.if_equal(kSetLease, v.refuse, v.allow));
}

BpfLabel write_personality(BpfAssembler& a, const Verdicts& v) {
  return a.load_argument(0, a.if_one_of(kPersonalities, v.allow, v.refuse));
}

// Options 1 to 34 are names, signals, own state and queries; 35 is PR_SET_MM, which rewrites what
// /proc shows of a process; 36 to 47 end with PR_CAP_AMBIENT; 50 to 56, 60, 61, 63 and 64 are
// vector lengths, speculation, pointer authentication and tagged memory; 65 and 66 forbid writable
// code; 74 to 76 are shadow stacks; then PR_GET_AUXV and PR_SET_VMA. PR_SET_PTRACER is not here.
BpfLabel write_prctl(BpfAssembler& a, const Verdicts& v) {
  const BpfLabel filter_mode =
      a.load_argument(1, a.if_equal(SECCOMP_MODE_FILTER, v.allow, v.refuse));
  const BpfSegment segments[] = {
      {0, v.refuse},          {1, v.allow},          {22, filter_mode},      {23, v.allow},
      {35, v.refuse},         {36, v.allow},         {48, v.refuse},         {50, v.allow},
      {57, v.refuse},         {60, v.allow},         {62, v.refuse},         {63, v.allow},
      {67, v.refuse},         {74, v.allow},         {77, v.refuse},         {0x41555856, v.allow},
      {0x41555857, v.refuse}, {0x53564d41, v.allow}, {0x53564d42, v.refuse},
  };
  return a.load_argument(0, a.search(segments));
}

// A filter of one's own only narrows, but one with a listener can let another process answer
// calls, the way Cordon's own supervisor does.
BpfLabel write_seccomp(BpfAssembler& a, const Verdicts& v) {
  const BpfLabel flags =
      a.load_argument(1, a.if_any_bit(SECCOMP_FILTER_FLAG_NEW_LISTENER, v.refuse, v.allow));
  const BpfLabel known = a.if_at_least(SECCOMP_GET_NOTIF_SIZES + 1, v.refuse, v.allow);
  return a.load_argument(0, a.if_equal(SECCOMP_SET_MODE_FILTER, flags, known));
}

// Fast Open connects without a connect call.
BpfLabel write_send(BpfAssembler& a, const Verdicts& v, unsigned flags_index) {
  return a.load_argument(flags_index, a.if_any_bit(kFastOpenFlag, v.refuse, v.allow));
}

// A datagram to an address finds nobody in the sandbox's own network, and the kernel tells that to
// the program alone. So the broker hears of one that is sent, and has the kernel go on: nothing is
// decided by what it reads. Half of the pointer is enough for that; addresses of sendmsg and
// sendmmsg lie in memory, where a filter cannot look.
BpfLabel write_send_to(BpfAssembler& a, const Verdicts& v, const FilterProfile& profile) {
  const bool told = profile.has_broker() && profile.net != NetMode::Open;
  const BpfLabel sent = told ? a.load_argument(4, a.if_equal(0, v.allow, v.broker)) : v.allow;
  return a.load_argument(3, a.if_any_bit(kFastOpenFlag, v.refuse, sent));
}

// In network mode allow a socket may be one of the host's network. A source route (IP_OPTIONS, 4;
// IPV6_RTHDR, 57) would send the packets of a connection that was judged to any other address, and
// joining a group would speak on the host's network, so of the options of IP only these are left:
// type of service and time to live, what is received, path MTU, free binding, multicast without
// joining, the range of local ports.
std::array<BpfSegment, 15> ipv4_options(const Verdicts& v) {
  return {{{0, v.refuse},
           {1, v.allow},
           {3, v.refuse},
           {8, v.allow},
           {9, v.refuse},
           {10, v.allow},
           {16, v.refuse},
           {24, v.allow},
           {25, v.refuse},
           {32, v.allow},
           {35, v.refuse},
           {49, v.allow},
           {50, v.refuse},
           {51, v.allow},
           {52, v.refuse}}};
}

// The same of IPv6, and IPV6_V6ONLY.
std::array<BpfSegment, 17> ipv6_options(const Verdicts& v) {
  return {{{0, v.refuse},
           {16, v.allow},
           {20, v.refuse},
           {23, v.allow},
           {27, v.refuse},
           {49, v.allow},
           {50, v.refuse},
           {51, v.allow},
           {52, v.refuse},
           {62, v.allow},
           {63, v.refuse},
           {66, v.allow},
           {68, v.refuse},
           {72, v.allow},
           {74, v.refuse},
           {78, v.allow},
           {79, v.refuse}}};
}

// Refused: Fast Open in its three spellings (23, 30, 33), and binding to an interface by name (25)
// or index (62).
BpfLabel write_set_socket_option(BpfAssembler& a, const Verdicts& v, NetMode net) {
  const BpfLabel tcp = a.load_argument(2, a.if_one_of({23, 30, 33}, v.refuse, v.allow));
  const BpfLabel socket = a.load_argument(2, a.if_one_of({25, 62}, v.refuse, v.allow));
  BpfLabel other = v.allow;
  if (net == NetMode::Allow) {
    const BpfLabel six = a.load_argument(2, a.search(ipv6_options(v)));
    const BpfLabel four = a.load_argument(2, a.search(ipv4_options(v)));
    other = a.if_equal(IPPROTO_IPV6, six, a.if_equal(IPPROTO_IP, four, v.allow));
  }
  const BpfLabel level = a.if_equal(SOL_SOCKET, socket, other);
  return a.load_argument(1, a.if_equal(IPPROTO_TCP, tcp, level));
}

BpfLabel write_inet_protocol(BpfAssembler& a, const Verdicts& v, NetMode net) {
  const BpfLabel transport = a.if_one_of({IPPROTO_UDP, IPPROTO_TCP, IPPROTO_IP}, v.allow, v.refuse);
  switch (net) {
    case NetMode::None:
    case NetMode::Allow:
      return a.load_argument(2, transport);
    case NetMode::Open:
      // Only here is there anybody to ping.
      return a.load_argument(2, a.if_one_of({IPPROTO_ICMP, IPPROTO_ICMPV6}, v.allow, transport));
  }
  return v.refuse;
}

// A local socket reaches the host's services through any directory that is shown, so without a
// broker to judge each connection there is none; one for datagrams needs no connection, a pair of
// them can be connected anew, and SOCK_RAW is one by another name.
BpfLabel write_local_type(BpfAssembler& a, const Verdicts& v) {
  const BpfLabel type = a.if_one_of({SOCK_SEQPACKET, SOCK_STREAM}, v.allow, v.refuse);
  return a.load_argument(1, a.keep_bits(kSocketTypeMask, type));
}

// Raw sockets, MPTCP and other protocols pass by the rules made for TCP and UDP; netlink is for
// interfaces and routes only.
BpfLabel write_socket(BpfAssembler& a, const Verdicts& v, const FilterProfile& profile) {
  const BpfLabel netlink = a.load_argument(2, a.if_equal(NETLINK_ROUTE, v.allow, v.refuse));
  const BpfLabel protocol = write_inet_protocol(a, v, profile.net);
  const BpfLabel type = a.if_one_of({SOCK_DGRAM, SOCK_STREAM}, protocol, v.refuse);
  const BpfLabel inet = a.load_argument(1, a.keep_bits(kSocketTypeMask, type));
  const BpfLabel local_type = profile.has_broker() ? write_local_type(a, v) : v.refuse;
  const BpfLabel local = a.if_equal(AF_UNIX, local_type, v.no_such_family);
  const BpfLabel routed = a.if_equal(AF_NETLINK, netlink, local);
  return a.load_argument(0, a.if_one_of({AF_INET6, AF_INET}, inet, routed));
}

BpfLabel write_socket_pair(BpfAssembler& a, const Verdicts& v) {
  return a.load_argument(0, a.if_equal(AF_UNIX, write_local_type(a, v), v.no_such_family));
}

}  // namespace

Verdicts write_verdicts(BpfAssembler& assembler, const FilterProfile& profile) {
  Verdicts verdicts;
  verdicts.allow = assembler.give(SECCOMP_RET_ALLOW);
  verdicts.refuse = assembler.give(with_errno(EPERM));
  verdicts.absent = assembler.give(with_errno(ENOSYS));
  verdicts.no_such_family = assembler.give(with_errno(EAFNOSUPPORT));
  verdicts.broker = profile.has_broker() ? assembler.give(SECCOMP_RET_USER_NOTIF) : verdicts.allow;
  return verdicts;
}

BpfLabel write_rule(BpfAssembler& assembler, Decision decision, const Verdicts& verdicts,
                    const FilterProfile& profile) {
  switch (decision) {
    case Decision::Refuse:
      return verdicts.refuse;
    case Decision::Absent:
      return verdicts.absent;
    case Decision::Allow:
      return verdicts.allow;
    case Decision::Broker:
      return verdicts.broker;
    case Decision::Listen:
      return profile.net == NetMode::Allow ? verdicts.broker : verdicts.allow;
    case Decision::Rename:
      return profile.staged ? verdicts.broker : verdicts.allow;
    case Decision::Clone:
      return write_clone(assembler, verdicts);
    case Decision::Fcntl:
      return write_fcntl(assembler, verdicts);
    case Decision::IoPriority:
      return write_priority(assembler, verdicts, kIoPriorityOfProcess);
    case Decision::Ioctl:
      return write_ioctl(assembler, verdicts, profile.net);
    case Decision::Mode:
      return write_mode(assembler, verdicts, 1);
    case Decision::ModeAt:
      return write_mode(assembler, verdicts, 2);
    case Decision::OfProcess:
      return write_of_process(assembler, verdicts);
    case Decision::Open:
      return write_open(assembler, verdicts, 1);
    case Decision::OpenAt:
      return write_open(assembler, verdicts, 2);
    case Decision::MakeNode:
      return write_make_node(assembler, verdicts, 1);
    case Decision::MakeNodeAt:
      return write_make_node(assembler, verdicts, 2);
    case Decision::Personality:
      return write_personality(assembler, verdicts);
    case Decision::Prctl:
      return write_prctl(assembler, verdicts);
    case Decision::Priority:
      return write_priority(assembler, verdicts, kPriorityOfProcess);
    case Decision::Seccomp:
      return write_seccomp(assembler, verdicts);
    case Decision::SendTo:
      return write_send_to(assembler, verdicts, profile);
    case Decision::SendMessages:
      return write_send(assembler, verdicts, 3);
    case Decision::SendMessage:
      return write_send(assembler, verdicts, 2);
    case Decision::SetSocketOption:
      return write_set_socket_option(assembler, verdicts, profile.net);
    case Decision::Socket:
      return write_socket(assembler, verdicts, profile);
    case Decision::SocketPair:
      return write_socket_pair(assembler, verdicts);
  }
  return verdicts.refuse;
}

}  // namespace cordon
