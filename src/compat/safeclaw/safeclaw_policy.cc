#include "compat/safeclaw/safeclaw_policy.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "compat/dialect/foreign_table.h"
#include "config/node.h"

namespace cordon {
namespace {

constexpr std::array<std::string_view, 5> kSafeClawTopKeys{"filesystem", "syscalls", "network",
                                                           "namespaces", "timeoutMs"};
constexpr std::array<std::string_view, 2> kFilesystemKeys{"allow", "deny"};
constexpr std::array<std::string_view, 2> kRuleKeys{"path", "access"};
constexpr std::array<std::string_view, 2> kSyscallKeys{"allow", "defaultDeny"};
constexpr std::array<std::string_view, 4> kNamespaceKeys{"pid", "net", "mnt", "user"};
constexpr std::array<std::string_view, 2> kSafeClawNetworkKeys{"allowedDomains", "deniedDomains"};
constexpr std::array<std::string_view, 2> kNetworkWords{"none", "localhost"};
// In the order of SafeClawAccess.
constexpr std::array<std::string_view, 5> kAccesses{"read", "execute", "write", "readwrite",
                                                    "readwriteexecute"};

Place place_of(const Section& section, const Node& node) {
  return {section.file(), node.line, node.column};
}

Result<const NodeList*> bounded_list(const Section& table, std::string_view key, std::size_t most) {
  const Node* node = table.find(key);
  if (node == nullptr) return nullptr;
  if (node->list() == nullptr) {
    return fail(table.error_at(*node, table.title(key) + " must be a list"));
  }
  if (node->list()->size() > most) {
    return fail(table.error_at(
        *node, table.title(key) + " holds more than " + std::to_string(most) + " entries"));
  }
  return node->list();
}

Result<void> check_path(const Section& rule, const PlacedText& path) {
  const std::string& text = *path.text;
  if (!text.starts_with('/')) {
    return fail(rule.error_at(*path.node, "path " + shown(text) + " is not absolute",
                              "write the whole path"));
  }
  // The kernel would end the path at a NUL and open another one.
  if (text.find('\0') != std::string::npos) {
    return fail(rule.error_at(*path.node, "path " + shown(text) + " holds a NUL byte"));
  }
  if (text.size() > kSafeClawLongestPath) {
    return fail(rule.error_at(*path.node, "path " + shown(text) + " is longer than " +
                                              std::to_string(kSafeClawLongestPath) + " bytes"));
  }
  return {};
}

enum class AccessKey { Needed, Optional };  // a deny without one denies everything

Result<SafeClawRule> decode_rule(const Section& rule, AccessKey key) {
  CORDON_TRY(path, rule.text("path"));
  CORDON_TRY(word, one_of(rule, "access", kAccesses));
  if (!path) return fail(rule.error_at(rule.node(), "a rule needs \"path\" and \"access\""));
  if (!word && key == AccessKey::Needed) {
    return fail(rule.error_at(rule.node(), "a rule needs \"path\" and \"access\""));
  }
  CORDON_CHECK(check_path(rule, *path));
  const std::string_view access = word ? std::string_view(*word) : kAccesses.back();
  const auto* at = std::find(kAccesses.begin(), kAccesses.end(), access);
  return SafeClawRule{*path->text, static_cast<SafeClawAccess>(at - kAccesses.begin()),
                      place_of(rule, *path->node)};
}

Result<std::vector<SafeClawRule>> decode_rules(const Section& filesystem, std::string_view key,
                                               std::size_t most, AccessKey access) {
  std::vector<SafeClawRule> rules;
  CORDON_TRY(nodes, bounded_list(filesystem, key, most));
  if (nodes == nullptr) return rules;
  for (const Node& node : *nodes) {
    CORDON_TRY(section,
               Section::open(node, filesystem.file(), "filesystem." + std::string(key), kRuleKeys));
    CORDON_TRY(rule, decode_rule(section, access));
    rules.push_back(std::move(rule));
  }
  return rules;
}

Result<std::vector<std::string>> decode_calls(const Section& top) {
  CORDON_TRY(table, top.member("syscalls", kSyscallKeys));
  CORDON_TRY(deny, table.flag("defaultDeny"));
  if (deny && !*deny) {
    return fail(table.error_at(*table.find("defaultDeny"), "\"defaultDeny\" can only be true"));
  }
  CORDON_CHECK(bounded_list(table, "allow", kSafeClawMostSyscalls));
  CORDON_TRY(names, table.texts("allow"));
  std::vector<std::string> calls;
  for (const PlacedText& name : names) {
    const bool plain = std::all_of(name.text->begin(), name.text->end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    });
    if (name.text->empty() || !plain || name.text->size() > kSafeClawLongestSyscall) {
      return fail(table.error_at(*name.node, shown(*name.text) + " is no system call"));
    }
    calls.push_back(*name.text);
  }
  return calls;
}

Result<SafeClawNetwork> decode_network(const Section& top) {
  SafeClawNetwork network;
  const Node* node = top.find("network");
  if (node == nullptr) return network;
  if (node->text() != nullptr) {
    CORDON_TRY(word, one_of(top, "network", kNetworkWords));
    network.reach = *word == "none" ? SafeClawNetwork::Reach::None  //
                                    : SafeClawNetwork::Reach::Localhost;
    return network;
  }
  CORDON_TRY(table, top.member("network", kSafeClawNetworkKeys));
  network.reach = SafeClawNetwork::Reach::Domains;
  for (const auto& [key, list] : {std::pair{"allowedDomains", &network.allowed},
                                  std::pair{"deniedDomains", &network.denied}}) {
    CORDON_TRY(domains, table.texts(key));
    for (const PlacedText& domain : domains) {
      list->push_back({*domain.text, place_of(table, *domain.node)});
    }
  }
  return network;
}

Node encode_rules(const std::vector<SafeClawRule>& rules) {
  NodeList list;
  for (const SafeClawRule& rule : rules) {
    list.push_back(Node().set("path", rule.path).set("access", name_of(rule.access)));
  }
  return list;
}

template <typename Texts, typename Text>
Node encode_texts(const Texts& texts, Text text) {
  NodeList list;
  for (const auto& element : texts) list.emplace_back(text(element));
  return list;
}

Node encode_safeclaw_network(const SafeClawNetwork& network) {
  if (network.reach != SafeClawNetwork::Reach::Domains) {
    return network.reach == SafeClawNetwork::Reach::Localhost ? "localhost" : "none";
  }
  const auto text = [](const SafeClawDomain& domain) { return domain.text; };
  return Node()
      .set("allowedDomains", encode_texts(network.allowed, text))
      .set("deniedDomains", encode_texts(network.denied, text));
}

}  // namespace

std::string_view name_of(SafeClawAccess access) {
  return kAccesses[static_cast<std::size_t>(access)];
}

bool writes(SafeClawAccess access) {
  return access != SafeClawAccess::Read && access != SafeClawAccess::Execute;
}

bool executes(SafeClawAccess access) {
  return access == SafeClawAccess::Execute || access == SafeClawAccess::ReadWriteExecute;
}

Result<SafeClawPolicy> decode_safeclaw(const Node& document, const std::string& file) {
  SafeClawPolicy policy;
  CORDON_TRY(top, Section::open(document, file, "", kSafeClawTopKeys));
  CORDON_CHECK(require_key(top, "filesystem"));
  CORDON_CHECK(require_key(top, "syscalls"));
  CORDON_TRY(filesystem, top.member("filesystem", kFilesystemKeys));
  CORDON_TRY(allow, decode_rules(filesystem, "allow", kSafeClawMostAllow, AccessKey::Needed));
  CORDON_TRY(deny, decode_rules(filesystem, "deny", kSafeClawMostDeny, AccessKey::Optional));
  CORDON_TRY(calls, decode_calls(top));
  CORDON_TRY(network, decode_network(top));
  CORDON_TRY(namespaces, top.member("namespaces", kNamespaceKeys));
  for (const std::string_view key : kNamespaceKeys) {
    CORDON_TRY(on, namespaces.flag(key));
    if (on && !*on) policy.shared_namespaces.emplace_back(key);
  }
  CORDON_TRY(timeout, whole(top, "timeoutMs", kSafeClawMostTimeout));
  if (timeout && *timeout > 0) policy.timeout_ms = timeout;
  policy.allow = std::move(allow);
  policy.deny = std::move(deny);
  policy.syscalls = std::move(calls);
  policy.network = std::move(network);
  return policy;
}

Node encode_safeclaw(const SafeClawPolicy& policy) {
  Node document;
  document
      .set("filesystem",
           Node().set("allow", encode_rules(policy.allow)).set("deny", encode_rules(policy.deny)))
      .set("syscalls", Node()
                           .set("allow", encode_texts(policy.syscalls,
                                                      [](const std::string& name) { return name; }))
                           .set("defaultDeny", true));
  if (policy.network.reach != SafeClawNetwork::Reach::Unsaid) {
    document.set("network", encode_safeclaw_network(policy.network));
  }
  Node namespaces;
  for (const std::string_view key : kNamespaceKeys) {
    const auto& shared = policy.shared_namespaces;
    namespaces.set(std::string(key), std::find(shared.begin(), shared.end(), key) == shared.end());
  }
  document.set("namespaces", std::move(namespaces));
  if (policy.timeout_ms) document.set("timeoutMs", Node(*policy.timeout_ms));
  return document;
}

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
