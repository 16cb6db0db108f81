#include "backend/native/shared_host_rules.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <span>
#include <string_view>

#include "backend/native/judged_arguments.h"

namespace cordon {
namespace {

using Names = std::span<const std::string_view>;

// The host's ipc namespace: segments, queues and semaphores of every process of this user.
constexpr std::string_view kHostIpc[] = {
    "mq_getsetattr", "mq_notify",  "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink",
    "msgctl",        "msgget",     "msgrcv",  "msgsnd",          "semctl",       "semget",
    "semop",         "semtimedop", "shmat",   "shmctl",          "shmdt",        "shmget"};

// Of any file that the user may read or owns, granted or not. Reading those of an open descriptor
// is left.
constexpr std::string_view kAttributes[] = {
    "fremovexattr", "fsetxattr",    "getxattr",  "lgetxattr",   "listxattr",
    "llistxattr",   "lremovexattr", "lsetxattr", "removexattr", "setxattr"};

// A watch tells the names of what is opened and made in directories that nobody granted. Instances
// are counted for the user as a whole, and without a watch there is no use for one.
constexpr std::string_view kRefused[] = {"inotify_add_watch", "inotify_init", "inotify_init1"};

// The mode is the second argument.
constexpr std::string_view kMode[] = {"chmod", "fchmod"};
// The mode is the third argument.
constexpr std::string_view kModeAt[] = {"fchmodat", "fchmodat2"};
constexpr std::string_view kOwner[] = {"chown", "fchown", "fchownat", "lchown"};
constexpr std::string_view kTimes[] = {"futimesat", "utime", "utimensat", "utimes"};

// The first argument is a process, and any of the same user would do: a processor time limit kills
// it, a descriptor limit blinds it. Zero is the caller.
constexpr std::string_view kOwnProcess[] = {"prlimit64", "sched_setaffinity", "sched_setattr",
                                            "sched_setparam", "sched_setscheduler"};

// Requests to regular files that read (flags, extents) or need a descriptor that may write (clones
// of ranges). All others, such as sealing a file with fs-verity or making it immutable, need only
// one that may read.
constexpr std::initializer_list<std::uint32_t> kFileRequests = {0x80086601, 0xc020660b, 0x40049409,
                                                                0x4020940d};
constexpr std::uint32_t kRequestType = 0xff00;
constexpr std::uint32_t kTerminalType = 0x5400;
constexpr std::uint32_t kSocketType = 0x8900;

// Even a local socket lists the host's interfaces.
BpfLabel write_shared_ioctl(BpfAssembler& a, const Verdicts& v, NetMode net) {
  const BpfLabel not_there = a.give(with_errno(ENOTTY));
  const BpfLabel type =
      a.keep_bits(kRequestType, a.if_one_of({kTerminalType, kSocketType}, v.allow, not_there));
  const BpfLabel known = a.if_one_of(kFileRequests, v.allow, type);
  const BpfLabel terminal = a.if_one_of(kRefusedTerminalRequests, v.refuse, known);
  if (net == NetMode::Open) return a.load_argument(1, terminal);
  const BpfLabel below = a.if_at_least(kLastInterfaceRequest + 1, terminal, v.refuse);
  return a.load_argument(1, a.if_at_least(kFirstInterfaceRequest, below, terminal));
}

// Of the internet in network mode allow: TCP, and what the broker gives for UDP.
BpfLabel write_inet_socket(BpfAssembler& a, const Verdicts& v) {
  const auto protocol = [&](std::uint32_t number, BpfLabel target) {
    return a.load_argument(2, a.if_one_of({number, IPPROTO_IP}, target, v.refuse));
  };
  const BpfLabel type =
      a.if_equal(SOCK_STREAM, protocol(IPPROTO_TCP, v.allow),
                 a.if_equal(SOCK_DGRAM, protocol(IPPROTO_UDP, v.broker), v.refuse));
  return a.load_argument(1, a.keep_bits(kSocketTypeMask, type));
}

// Without an empty network: only local sockets, those answered by the broker, and in mode allow
// what cannot leave without it.
BpfLabel write_shared_socket(BpfAssembler& a, const Verdicts& v, const FilterProfile& profile) {
  const BpfLabel type = a.if_one_of({SOCK_SEQPACKET, SOCK_STREAM}, v.allow, v.refuse);
  const BpfLabel local =
      profile.has_broker() ? a.load_argument(1, a.keep_bits(kSocketTypeMask, type)) : v.refuse;
  const BpfLabel other = profile.net == NetMode::Allow
                             ? a.if_one_of({AF_INET6, AF_INET}, write_inet_socket(a, v), v.refuse)
                             : v.refuse;
  return a.load_argument(0, a.if_equal(AF_UNIX, local, other));
}

// Interfaces and Fast Open are refused as in argument_rules.cc.
BpfLabel write_shared_socket_option(BpfAssembler& a, const Verdicts& v) {
  const BpfLabel as_if = a.give(with_errno(0));
  const BpfLabel tcp = a.load_argument(2, a.if_one_of({23, 30, 33}, v.refuse, v.allow));
  const BpfLabel socket = a.load_argument(2, a.if_one_of({25, 62}, v.refuse, v.allow));
  const BpfLabel other = a.if_one_of({IPPROTO_IPV6, IPPROTO_IP}, as_if, v.allow);
  const BpfLabel level = a.if_equal(SOL_SOCKET, socket, other);
  return a.load_argument(1, a.if_equal(IPPROTO_TCP, tcp, level));
}

// Both arguments as given: one's own process and nothing wider, such as all of this user.
BpfLabel write_pair(BpfAssembler& a, const Verdicts& v, std::uint32_t first, std::uint32_t second) {
  const BpfLabel who = a.load_argument(1, a.if_equal(second, v.allow, v.refuse));
  return a.load_argument(0, a.if_equal(first, who, v.refuse));
}

class Writer {
 public:
  explicit Writer(Arch arch) : arch_(arch) {}

  void put(std::string_view name, BpfLabel target) {
    const auto call = find_syscall(name);
    const auto number = call ? call->number(arch_) : std::nullopt;
    if (number) rules_.push_back({static_cast<std::uint32_t>(*number), target});
  }
  void put(Names names, BpfLabel target) {
    for (const std::string_view name : names) put(name, target);
  }
  std::vector<SharedHostRule> take() { return std::move(rules_); }

 private:
  Arch arch_;
  std::vector<SharedHostRule> rules_;
};

}  // namespace

std::vector<SharedHostRule> write_shared_host_rules(BpfAssembler& assembler, Arch arch,
                                                    const Verdicts& verdicts,
                                                    const FilterProfile& profile) {
  constexpr std::uint32_t kPriorityOfProcess = 0;
  constexpr std::uint32_t kIoPriorityOfProcess = 1;
  constexpr std::uint32_t kCaller = 0;
  Writer writer(arch);
  const BpfLabel asked = profile.has_broker() ? verdicts.broker : verdicts.refuse;
  const auto mode = [&](unsigned index) {
    return assembler.load_argument(index,
                                   assembler.if_any_bit(kOwnersRights, verdicts.refuse, asked));
  };
  writer.put(kHostIpc, verdicts.absent);
  writer.put(kAttributes, assembler.give(with_errno(EOPNOTSUPP)));
  writer.put(kRefused, verdicts.refuse);
  writer.put(kMode, mode(1));
  writer.put(kModeAt, mode(2));
  writer.put(kTimes, asked);
  writer.put(kOwner, asked);
  writer.put(kOwnProcess, assembler.load_argument(
                              0, assembler.if_equal(kCaller, verdicts.allow, verdicts.refuse)));
  writer.put("setpriority", write_pair(assembler, verdicts, kPriorityOfProcess, kCaller));
  writer.put("ioprio_set", write_pair(assembler, verdicts, kIoPriorityOfProcess, kCaller));
  writer.put("ioctl", write_shared_ioctl(assembler, verdicts, profile.net));
  if (profile.net != NetMode::Open) {
    writer.put("socket", write_shared_socket(assembler, verdicts, profile));
  }
  if (profile.net == NetMode::Allow) {
    writer.put("setsockopt", write_shared_socket_option(assembler, verdicts));
    const BpfLabel address =
        assembler.load_argument(4, assembler.if_equal(0, verdicts.allow, verdicts.broker));
    writer.put("recvfrom", address);
    writer.put("recvmsg", verdicts.broker);
    writer.put("getsockname", verdicts.broker);
    writer.put("getpeername", verdicts.broker);
    writer.put("sendto", assembler.load_argument(
                             3, assembler.if_any_bit(kFastOpenFlag, verdicts.refuse, address)));
  }
  return writer.take();
}

}  // namespace cordon
