// Policies of SafeClaw and those of Cordon, both ways, and what its runtime and its profiles say.
#include "compat/safeclaw/safeclaw_policy.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "compat/dialect/foreign_table.h"
#include "config/node.h"

namespace cordon {
namespace {

// From a policy of SafeClaw to one of Cordon.

Error at(const Place& place, Error error) {
  if (!error.place) error.place = place;
  return error;
}

class SafeClawImport {
 public:
  SafeClawImport(const SafeClawPolicy& source, const std::string& file, const Places& places,
                 Restrictions& restrictions)
      : source_(source), tables_(file, false), places_(places), restrictions_(restrictions) {
    policy_.name = file;
    policy_.require.layers = {Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                              Layer::Capabilities};
  }

  Result<Imported> convert() &&;

 private:
  static Result<PathRule> entry(const SafeClawRule& rule, std::string_view wish);
  Result<void> convert_files();
  Result<void> convert_network();

  const SafeClawPolicy& source_;
  ForeignTables tables_;
  const Places& places_;
  Restrictions& restrictions_;
  Policy policy_;
};

Result<PathRule> SafeClawImport::entry(const SafeClawRule& rule, std::string_view wish) {
  auto path = literal_path(rule.path, wish);
  if (!path) return fail(at(rule.place, std::move(path).error()));
  return std::move(*path);
}

Result<void> SafeClawImport::convert_files() {
  bool executable = false;
  for (const SafeClawRule& rule : source_.allow) {
    const bool writable = writes(rule.access);
    CORDON_TRY(path, entry(rule, writable ? "write" : "read"));
    executable = executable || !executes(rule.access);
    (writable ? policy_.fs.write : policy_.fs.read).push_back(std::move(path));
  }
  for (const SafeClawRule& rule : source_.deny) {
    CORDON_TRY(path, entry(rule, "deny"));
    policy_.fs.deny.push_back(std::move(path));
    if (rule.access != SafeClawAccess::ReadWriteExecute) {
      tables_.lose("filesystem.deny", shown(rule.path) + " is denied altogether");
    }
  }
  for (std::vector<PathRule>* rules : {&policy_.fs.read, &policy_.fs.write}) {
    CORDON_CHECK(withhold_denied(policy_.fs.deny, places_, "filesystem.allow", *rules, tables_));
  }
  if (executable) {
    restrictions_.give_up("execute", "what may be read may be executed in a sandbox of Cordon");
  }
  return {};
}

Result<void> SafeClawImport::convert_network() {
  const SafeClawNetwork& network = source_.network;
  if (network.reach == SafeClawNetwork::Reach::Localhost) {
    tables_.lose("network", "loopback is the sandbox's own; the host's is not reached");
  }
  for (const auto& [domains, rules] : {std::pair{&network.allowed, &policy_.net.allow},
                                       std::pair{&network.denied, &policy_.net.deny}}) {
    for (const SafeClawDomain& domain : *domains) {
      auto rule = parse_domain(domain.text);
      if (!rule) return fail(at(domain.place, std::move(rule).error()));
      rules->push_back(std::move(*rule));
    }
  }
  policy_.net.mode =
      policy_.net.allow.empty() ? NetAccess(NetMode::None) : NetAccess(NetMode::Allow);
  if (policy_.net.mode == NetMode::None) policy_.net.deny.clear();
  return {};
}

Result<Imported> SafeClawImport::convert() && {
  CORDON_CHECK(convert_files());
  // Which calls a sandbox permits is not for a policy to say.
  tables_.lose("syscalls", "Cordon's own filter holds in its place");
  CORDON_CHECK(convert_network());
  for (const std::string& key : source_.shared_namespaces) {
    tables_.lose("namespaces." + key, "it is always a new one");
  }
  policy_.limits.wall_ms = source_.timeout_ms;
  return Imported{std::move(policy_), std::move(tables_).take_losses()};
}

}  // namespace

Result<Imported> import_safeclaw(const Node& document, const std::string& file,
                                 const Places& places, Restrictions& restrictions) {
  CORDON_TRY(source, decode_safeclaw(document, file));
  return SafeClawImport(source, file, places, restrictions).convert();
}

namespace {

void add_rules(std::vector<SafeClawRule>& rules, const std::vector<std::string>& paths,
               SafeClawAccess access) {
  for (const std::string& path : paths) rules.push_back({path, access});
}

SafeClawNetwork safeclaw_network(Exporter& out) {
  const Domains domains = to_domains(out);
  SafeClawNetwork network;
  network.reach = domains.allowed.empty() ? SafeClawNetwork::Reach::None  //
                                          : SafeClawNetwork::Reach::Domains;
  for (const std::string& domain : domains.allowed) network.allowed.push_back({domain});
  for (const std::string& domain : domains.denied) network.denied.push_back({domain});
  return network;
}

// Rights there add up: a path that is only read inside one that is written would be writable.
Result<void> give_up_inner_reads(Exporter& out, const PlainPaths& paths) {
  for (const std::string& read : paths.read) {
    for (const std::string& write : paths.write) {
      CORDON_TRY(outer, out.places.real(write));
      CORDON_TRY(inner, out.places.real(read));
      if (!contains(outer, inner)) continue;
      out.restrictions.give_up("fs.read",
                               shown(read) + " would be writable inside " + shown(write));
      break;
    }
  }
  return {};
}

}  // namespace

Result<Node> export_safeclaw(Exporter& out) {
  CORDON_TRY(paths, plain_paths(out));
  if (paths.read.size() + paths.write.size() > kSafeClawMostAllow ||
      paths.deny.size() > kSafeClawMostDeny) {
    return fail(policy_error("the policy has more rules than its helper takes",
                             "64 grants and 16 denies are the most"));
  }
  CORDON_CHECK(give_up_inner_reads(out, paths));
  out.restrictions.give_up("fs.scratch", "there is no private space for temporary files");
  out.restrictions.give_up("env", "the environment is not a part of the document");
  give_up_limits(out, true);
  lose_what_is_ours(out);
  SafeClawPolicy policy;
  add_rules(policy.allow, paths.read, SafeClawAccess::Execute);
  add_rules(policy.allow, paths.write, SafeClawAccess::ReadWriteExecute);
  add_rules(policy.deny, paths.deny, SafeClawAccess::ReadWriteExecute);
  policy.syscalls = safeclaw_calls(SafeClawProfile::Default);
  out.lose("syscalls",
           "Cordon's own filter is no part of a policy: the helper's default stands in "
           "its place");
  policy.network = safeclaw_network(out);
  if (out.policy.limits.wall_ms) {
    policy.timeout_ms = std::min(*out.policy.limits.wall_ms, kSafeClawMostTimeout);
  }
  return encode_safeclaw(policy);
}

namespace {

Node texts(const std::vector<SafeClawDomain>& domains) {
  NodeList list;
  for (const SafeClawDomain& domain : domains) list.emplace_back(domain.text);
  return list;
}

Node runtime_network(const SafeClawNetwork& network) {
  Node allowed{NodeList{}};
  Node denied{NodeList{}};
  switch (network.reach) {
    case SafeClawNetwork::Reach::Unsaid:
    case SafeClawNetwork::Reach::None:
      break;
    case SafeClawNetwork::Reach::Localhost:
      allowed = NodeList{"localhost"};
      break;
    case SafeClawNetwork::Reach::Domains:
      allowed = texts(network.allowed);
      denied = texts(network.denied);
      break;
  }
  return Node().set("allowedDomains", std::move(allowed)).set("deniedDomains", std::move(denied));
}

}  // namespace

Node to_runtime_config(const SafeClawPolicy& policy, const std::vector<std::string>& credentials) {
  NodeList writable;
  for (const SafeClawRule& rule : policy.allow) {
    // Every layer of that kind has its own devices.
    if (writes(rule.access) && !contains("/dev", rule.path)) writable.emplace_back(rule.path);
  }
  std::vector<std::string> unreadable = credentials;
  NodeList unwritable;
  for (const SafeClawRule& rule : policy.deny) {
    unreadable.push_back(rule.path);
    unwritable.emplace_back(rule.path);
  }
  return Node()
      .set("network", runtime_network(policy.network))
      .set("filesystem", Node()
                             .set("denyRead", text_nodes(unreadable))
                             .set("allowWrite", std::move(writable))
                             .set("denyWrite", std::move(unwritable)));
}

namespace {

// One text each: a table of pointers would be relocated at every start.
constexpr std::string_view kDefault =
    "read write exit exit_group brk mmap close fstat mprotect munmap rt_sigaction "
    "rt_sigprocmask ioctl access getpid clone execve wait4 uname fcntl getcwd "
    "arch_prctl set_tid_address set_robust_list rseq prlimit64 getrandom ";

constexpr std::string_view kLoading = "newfstatat openat pread64 ";

// Beside the two lists above. Left out on purpose: writing extended attributes, which Landlock does
// not withhold; System V and POSIX message queues, which reach other programs of the host; chroot,
// mounts, tracing and what else no policy may list.
constexpr std::string_view kDevelopment =
    // Processes and threads. clone3 is answered ENOSYS: what tries it falls back to clone.
    "clone3 execveat fork futex futex_waitv get_robust_list getcpu getpgid getpgrp "
    "getppid getsid gettid kill membarrier pidfd_open pidfd_send_signal prctl "
    "restart_syscall setpgid setsid tgkill tkill vfork waitid "
    // Signals.
    "pause rt_sigpending rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait "
    "rt_tgsigqueueinfo sigaltstack signalfd signalfd4 "
    // Scheduling.
    "getpriority ioprio_get sched_get_priority_max sched_get_priority_min "
    "sched_getaffinity sched_getattr sched_getparam sched_getscheduler "
    "sched_setaffinity sched_setscheduler sched_yield setpriority "
    // Identity, which no capability is left to change.
    "capget capset getegid geteuid getgid getgroups getresgid getresuid getuid "
    "setfsgid setfsuid setgid setgroups setregid setresgid setresuid setreuid setuid "
    // A sandbox of the program's own only narrows.
    "landlock_add_rule landlock_create_ruleset landlock_restrict_self personality "
    "seccomp "
    // Memory.
    "madvise memfd_create mincore mlock mlock2 mlockall mremap msync munlock "
    "munlockall pkey_alloc pkey_free pkey_mprotect "
    // Files: opening, reading and writing. openat2 is answered ENOSYS.
    "close_range copy_file_range creat dup dup2 dup3 fadvise64 fallocate fdatasync "
    "flock fsync ftruncate lseek open openat2 preadv preadv2 pwrite64 pwritev "
    "pwritev2 readahead readv sendfile splice sync sync_file_range syncfs tee "
    "truncate vmsplice writev "
    // Files: names, owners, modes and times; attributes for reading.
    "chdir chmod chown faccessat faccessat2 fchdir fchmod fchmodat fchmodat2 fchown "
    "fchownat fgetxattr flistxattr fstatfs getdents getdents64 getxattr lchown "
    "lgetxattr link linkat listxattr llistxattr lstat mkdir mkdirat mknod mknodat "
    "readlink readlinkat rename renameat renameat2 rmdir stat statfs statx symlink "
    "symlinkat umask unlink unlinkat utime utimensat utimes "
    // Waiting for descriptors. io_uring is answered ENOSYS.
    "epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait "
    "eventfd eventfd2 inotify_add_watch inotify_init inotify_init1 inotify_rm_watch "
    "io_uring_enter io_uring_register io_uring_setup pipe pipe2 poll ppoll pselect6 "
    "select "
    // Sockets, of the families that the network of the policy leaves.
    "accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom "
    "recvmmsg recvmsg sendmmsg sendmsg sendto setsockopt shutdown socket socketpair "
    // Time.
    "alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday "
    "nanosleep setitimer time timer_create timer_delete timer_getoverrun "
    "timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime "
    "times "
    // Limits and facts.
    "getrlimit getrusage setrlimit sysinfo ";

void append(std::vector<std::string>& names, std::string_view list) {
  for (const std::string_view name : split(list, ' ')) {
    if (!name.empty()) names.emplace_back(name);
  }
}

}  // namespace

std::optional<SafeClawProfile> parse_safeclaw_profile(std::string_view word) {
  if (word == "default") return SafeClawProfile::Default;
  if (word == "minimal-dynamic") return SafeClawProfile::MinimalDynamic;
  if (word == "development") return SafeClawProfile::Development;
  return std::nullopt;
}

std::vector<std::string> safeclaw_calls(SafeClawProfile profile) {
  std::vector<std::string> names;
  append(names, kDefault);
  if (profile == SafeClawProfile::Default) return names;
  append(names, kLoading);
  if (profile == SafeClawProfile::MinimalDynamic) return names;
  append(names, kDevelopment);
  return names;
}

}  // namespace cordon
