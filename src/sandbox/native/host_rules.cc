#include "sandbox/native/host_rules.h"

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string_view>
#include <variant>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "plan/limits.h"
#include "sandbox/native/argument_rules.h"
#include "sys/landlock.h"

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

namespace cordon::native {
namespace {

// Where systemd mounts it the kernel keeps the directory permanently empty, so it hides nothing.
constexpr std::string_view kHarmlessBelowProc = "/proc/sys/fs/binfmt_misc";

struct Mount {
  std::string_view point;
  std::string_view type;
};

// One line of mountinfo: `ID PARENT DEVICE ROOT POINT OPTIONS [TAG]... - TYPE SOURCE OPTIONS`.
Mount parse_mount(std::string_view line) {
  constexpr std::size_t kPoint = 4;
  const std::vector<std::string_view> fields = split(line, ' ');
  const auto dash = std::ranges::find(fields, "-");
  if (fields.size() <= kPoint || dash == fields.end() || std::next(dash) == fields.end()) return {};
  return {fields[kPoint], *std::next(dash)};
}

struct KnownDevice {
  std::string_view path;
  std::string_view numbers;  // as mknod takes them
};
constexpr std::array<KnownDevice, 6> kDeviceNumbers = {{{"/dev/null", "1 3"},
                                                        {"/dev/zero", "1 5"},
                                                        {"/dev/full", "1 7"},
                                                        {"/dev/random", "1 8"},
                                                        {"/dev/urandom", "1 9"},
                                                        {"/dev/tty", "5 0"}}};

std::string make_device(const std::string& path) {
  for (const KnownDevice& device : kDeviceNumbers) {
    if (device.path != path) continue;
    return "as root: rm -f " + path + " && mknod -m 666 " + path + " c " +
           std::string(device.numbers);
  }
  return "as root, make it a device again";
}

// The device that an operation gives to the command; null if it is about something else.
const std::string* device_of(const Op& operation) {
  if (const auto* node = std::get_if<op::DeviceNode>(&operation)) return &node->path;
  const auto* rule = std::get_if<op::LandlockAllow>(&operation);
  const bool device =
      rule != nullptr && rule->use == LandlockUse::Device && rule->kind != FileKind::Directory;
  return device ? &rule->path : nullptr;
}

bool needs_descriptor(const Op& operation) {
  if (const auto* bind = std::get_if<op::Bind>(&operation)) return bind->id != FileId{};
  const auto* rule = std::get_if<op::LandlockAllow>(&operation);
  return rule != nullptr && rule->id != FileId{};
}

void say(Error& error, std::string what, std::string hint) {
  error.kind = ErrorKind::Unavailable;
  error.what = std::move(what);
  error.hint = std::move(hint);
}

// What else can be done where a namespace is refused. On an older kernel that backend refuses as
// well, and without the acceptance it always does.
std::string or_landlock() {
  if (sys::landlock_abi() < kAbiWithScopes) return {};
  return "; or go without namespaces: --backend landlock, and [require] accept_missing = "
         "[\"namespaces\"] in a ceiling";
}

void name_proc(Error& error) {
  std::string places;
  for (const std::string& place : mounts_over_proc(read_mountinfo())) {
    places.append(places.empty() ? "" : ", ").append(place);
  }
  if (places.empty()) {
    say(error, "this host does not let a sandbox have a /proc of its own",
        "mount a whole /proc before cordon is started" + or_landlock());
    return;
  }
  say(error,
      "a fresh /proc cannot be mounted, because something covers parts of this one: " + places,
      "in a container: --security-opt systempaths=unconfined (Docker), --security-opt unmask=ALL "
      "(Podman), procMount: Unmasked (Kubernetes); elsewhere unmount what covers them" +
          or_landlock());
}

}  // namespace

std::string read_mountinfo() {
  const Fd file(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 16384> buffer{};
  while (file.valid()) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

std::string initramfs_cure() {
  return "let /init copy the initramfs to a tmpfs and switch_root to that" + or_landlock();
}

bool root_is_initramfs(std::string_view mountinfo) {
  bool found = false;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const Mount mount = parse_mount(line);
    // What is mounted last at a place is what is seen there.
    if (mount.point == "/") found = mount.type == "rootfs";
  }
  return found;
}

std::vector<std::string> mounts_over_proc(std::string_view mountinfo) {
  std::vector<std::string> found;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const std::string_view point = parse_mount(line).point;
    if (!point.starts_with("/proc/") || contains(kHarmlessBelowProc, point)) continue;
    if (std::ranges::find(found, point) == found.end()) found.emplace_back(point);
  }
  return found;
}

std::string noexec_mount(const std::string& path, std::string_view mountinfo) {
  struct statvfs status {};
  if (::statvfs(path.c_str(), &status) < 0 || (status.f_flag & ST_NOEXEC) == 0) return {};
  std::string_view deepest = "/";
  for (const std::string_view line : split(mountinfo, '\n')) {
    const std::string_view point = parse_mount(line).point;
    if (!point.empty() && contains(point, path) && point.size() >= deepest.size()) deepest = point;
  }
  return std::string(deepest);
}

Result<void> check_host(const Plan& plan) {
  CORDON_CHECK(check_devices(plan));
  CORDON_CHECK(check_writable(plan));
  return check_open_files(plan);
}

Result<void> check_devices(const Plan& plan) {
  for (const Op& operation : plan.build) {
    const std::string* path = device_of(operation);
    if (path == nullptr) continue;
    struct stat status {};
    const bool there = ::stat(path->c_str(), &status) == 0;
    const auto* rule = std::get_if<op::LandlockAllow>(&operation);
    if (there ? S_ISCHR(status.st_mode) : rule != nullptr && rule->optional) continue;
    Error error =
        setup_error(there ? *path + " of this host is not a device" : "this host has no " + *path,
                    0, make_device(*path));
    if (there && S_ISREG(status.st_mode)) error.what += " but a regular file";
    error.kind = ErrorKind::Unavailable;
    error.operation = describe(operation);
    return fail(std::move(error));
  }
  return {};
}

Result<void> check_writable(const Plan& plan) {
  for (const Op& operation : plan.build) {
    const auto* bind = std::get_if<op::Bind>(&operation);
    if (bind == nullptr || bind->access == MountAccess::ReadOnly) continue;
    struct statvfs status {};
    if (::statvfs(bind->source.c_str(), &status) < 0 || (status.f_flag & ST_RDONLY) == 0) continue;
    Error error = setup_error(quote(bind->source) +
                                  " cannot be written: its file system is mounted "
                                  "read-only",
                              0,
                              "grant it for reading (--policy readonly, or --read in place of "
                              "--write), or remount it");
    error.operation = describe(operation);
    return fail(std::move(error));
  }
  return {};
}

Result<void> check_open_files(const Plan& plan) {
  // Streams, channels, pipes, the audit log, the run's note, the broker, and those that a directory
  // is walked with.
  constexpr rlim_t kBeside = 96;
  const auto pins = static_cast<rlim_t>(std::ranges::count_if(plan.build, needs_descriptor));
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= kBeside + pins) return {};
  const std::string needed = std::to_string(kBeside + pins);
  const bool may_raise = limit.rlim_max >= kBeside + pins;
  return fail(setup_error(
      "too few files may be open: ulimit -n is " + std::to_string(limit.rlim_cur) + ", and " +
          needed + " are needed",
      0,
      may_raise ? "ulimit -Sn " + needed + " in the shell that starts cordon"
                : "the hard limit is lower too: start from a shell in which nobody lowered it, or "
                  "have it raised (LimitNOFILE=, /etc/security/limits.conf)"));
}

void name_cause(const Op& operation, Error& error) {
  if (std::holds_alternative<op::PivotRoot>(operation) && error.error_number == EINVAL &&
      root_is_initramfs(read_mountinfo())) {
    say(error, "the root of this host is its initramfs, which the kernel never exchanges",
        initramfs_cure());
  }
  if (std::holds_alternative<op::MountProc>(operation) && error.error_number == EPERM) {
    name_proc(error);
  }
  if (std::holds_alternative<op::HostName>(operation) && error.error_number == EPERM) {
    say(error, "this host does not let a sandbox have a host name of its own",
        "in a container: --security-opt seccomp=unconfined, or a seccomp profile that permits "
        "sethostname" +
            or_landlock());
  }
}

}  // namespace cordon::native
