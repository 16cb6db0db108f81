#include "sandbox/native/probe.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/fd.h"
#include "base/text.h"
#include "sandbox/native/native_backend.h"
#include "sandbox/native/seccomp_filter.h"
#include "sys/calls.h"
#include "sys/landlock.h"
#include "sys/notify.h"

namespace cordon::native {
namespace {

constexpr std::uint64_t kAllNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                                         CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
constexpr int kKilled = 255;  // no errno: the child did not get to its end

// The caller's identity as the kernel wants a map of it. A file cannot be made under an identity
// that is not mapped.
struct IdentityMap {
  std::string user = std::to_string(::geteuid()) + " " + std::to_string(::geteuid()) + " 1";
  std::string group = std::to_string(::getegid()) + " " + std::to_string(::getegid()) + " 1";
};

// What a child tries. It runs between clone and exit: no allocation, no locks; 0 or an errno.
using Attempt = int (*)(const IdentityMap& identity);

int wait_for(const Fd& pidfd) {
  siginfo_t info{};
  constexpr auto kByPidfd = static_cast<idtype_t>(3);
  while (::waitid(kByPidfd, static_cast<id_t>(pidfd.get()), &info, WEXITED) < 0) {
    if (errno != EINTR) return kKilled;
  }
  return info.si_code == CLD_EXITED ? info.si_status : kKilled;
}

// Without namespaces: the ordinary fork, which works also where clone3 is refused.
int attempt_here(Attempt attempt) {
  const IdentityMap identity;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(attempt(identity));
  if (child < 0) return errno;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return kKilled;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : kKilled;
}

int attempt_in(std::uint64_t namespaces, Attempt attempt) {
  if (namespaces == 0) return attempt_here(attempt);
  const IdentityMap identity;
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const sys::CloneResult cloned = sys::clone_process(namespaces, -1);
  if (cloned.pid == 0) ::_exit(attempt(identity));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (cloned.pid < 0) return -cloned.pid;
  return wait_for(Fd(cloned.pidfd));
}

int write_text(const char* path, const char* text, std::size_t size) {
  const Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  if (!file.valid()) return errno;
  const ssize_t written = ::write(file.get(), text, size);
  if (written < 0) return errno;
  return written == static_cast<ssize_t>(size) ? 0 : EIO;
}

int map_identity(const IdentityMap& identity) {
  constexpr std::string_view kDeny = "deny";
  const std::string& user = identity.user;
  const std::string& group = identity.group;
  if (const int error = write_text("/proc/self/uid_map", user.data(), user.size()); error != 0) {
    return error;
  }
  if (const int error = write_text("/proc/self/setgroups", kDeny.data(), kDeny.size());
      error != 0) {
    return error;
  }
  return write_text("/proc/self/gid_map", group.data(), group.size());
}

int nothing(const IdentityMap&) { return 0; }

int error_of(int result) { return result < 0 ? -result : 0; }

int private_mounts() {
  return ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) < 0 ? errno : 0;
}

// A tmpfs of our own becomes the working directory.
int enter_tmpfs(const IdentityMap&) {
  if (const int error = private_mounts(); error != 0) return error;
  constexpr std::uint64_t kBytes = 1U << 20U;
  const int tree = sys::new_tmpfs(kBytes, 64, "0755");
  if (tree < 0) return -tree;
  if (const int error = sys::attach_tree(tree, "/tmp"); error < 0) return -error;
  return ::chdir("/tmp") < 0 ? errno : 0;
}

int first_of_its_pids(const IdentityMap&) { return ::getpid() == 1 ? 0 : ECHILD; }

int loopback(const IdentityMap&) { return error_of(sys::bring_up_loopback()); }

// Containers' filters refuse it to root who has not all power over the host.
int host_name(const IdentityMap&) {
  constexpr std::string_view kName = "cordon";
  return ::sethostname(kName.data(), kName.size()) < 0 ? errno : 0;
}

int fresh_proc(const IdentityMap&) {
  if (const int error = private_mounts(); error != 0) return error;
  return ::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) < 0 ? errno
                                                                                         : 0;
}

int pivot(const IdentityMap& identity) {
  if (const int error = enter_tmpfs(identity); error != 0) return error;
  return error_of(sys::pivot_here());
}

// All of it in one child, as a launch does.
int whole_sandbox(const IdentityMap& identity) {
  if (const int error = map_identity(identity); error != 0) return error;
  if (const int error = fresh_proc(identity); error != 0) return error;
  if (const int error = host_name(identity); error != 0) return error;
  return pivot(identity);
}

int symlink_mount(const IdentityMap& identity) {
  if (const int error = map_identity(identity); error != 0) return error;
  if (const int error = enter_tmpfs(identity); error != 0) return error;
  const Fd file(::open("target", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid() || ::symlink("elsewhere", "link") < 0) return errno;
  const int tree = sys::open_tree_link("link");
  if (tree < 0) return -tree;
  if (const int error = sys::attach_tree(tree, "target"); error < 0) return -error;
  struct stat status {};
  if (::lstat("target", &status) < 0) return errno;
  return S_ISLNK(status.st_mode) ? 0 : EINVAL;
}

int no_new_privileges(const IdentityMap&) {
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? errno : 0;
}

// A ruleset without rules refuses every file: opening one must fail, and only then.
int landlock(const IdentityMap& identity) {
  if (const int error = no_new_privileges(identity); error != 0) return error;
  const Fd before(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!before.valid()) return errno;
  const int abi = sys::landlock_abi();
  if (abi <= 0) return ENOSYS;
  const int ruleset = sys::landlock_create_ruleset(sys::landlock::file_rights(abi), 0, 0);
  if (ruleset < 0) return -ruleset;
  if (const int error = sys::landlock_restrict_self(ruleset); error < 0) return -error;
  const Fd after(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return !after.valid() && errno == EACCES ? 0 : EINVAL;
}

// A filter that refuses one harmless call with an errno nothing else gives.
int seccomp(const IdentityMap& identity) {
  if (const int error = no_new_privileges(identity); error != 0) return error;
  std::array<sock_filter, 4> program{{
      {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
      {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_getppid},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EXDEV},
      {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
  }};
  if (::syscall(SYS_getppid) < 0) return EINVAL;
  const int error = sys::install_filter(program.data(), program.size());
  if (error < 0) return -error;
  return ::syscall(SYS_getppid) < 0 && errno == EXDEV ? 0 : EINVAL;
}

// A filter that asks another process; what is asked there is never more than this one's own calls.
int seccomp_listener(const IdentityMap& identity) {
  if (const int error = no_new_privileges(identity); error != 0) return error;
  std::array<sock_filter, 1> program{{{BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}}};
  const Fd listener(sys::install_filter_with_listener(program.data(), program.size()));
  if (listener.get() < 0) return -listener.get();
  return sys::is_listener(listener.get()) ? 0 : EINVAL;
}

struct Tried {
  const char* name;
  std::uint64_t namespaces;
  Attempt attempt;
  const char* done;
  bool required;
};

constexpr std::array kTried{
    Tried{"user-namespace", CLONE_NEWUSER, nothing, "created", true},
    Tried{"identity-map", CLONE_NEWUSER, map_identity, "mapped the caller", true},
    Tried{"mount-namespace", CLONE_NEWUSER | CLONE_NEWNS, enter_tmpfs, "mounted a tmpfs inside",
          true},
    Tried{"pid-namespace", CLONE_NEWUSER | CLONE_NEWPID, first_of_its_pids, "the child was pid 1",
          true},
    Tried{"net-namespace", CLONE_NEWUSER | CLONE_NEWNET, loopback, "brought its loopback up", true},
    Tried{"host-name", CLONE_NEWUSER | CLONE_NEWUTS, host_name, "named the sandbox", true},
    Tried{"all-namespaces", kAllNamespaces, enter_tmpfs, "all seven in one call", true},
    Tried{"fresh-proc", CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID, fresh_proc, "mounted /proc",
          true},
    Tried{"pivot-root", CLONE_NEWUSER | CLONE_NEWNS, pivot, "changed the root", true},
    Tried{"symlink-mount", CLONE_NEWUSER | CLONE_NEWNS, symlink_mount,
          "mounted a symlink over a file", false},
    Tried{"no-new-privileges", 0, no_new_privileges, "set", true},
    Tried{"landlock", 0, landlock, "an empty ruleset refused a file", true},
    Tried{"seccomp", 0, seccomp, "a filter refused a call", true},
    Tried{"seccomp-listener", 0, seccomp_listener, "a filter could ask the supervisor", false},
};

Probe make_probe(const char* name, const char* done, int error) {
  Probe probe{name, error == 0, done, 0};
  if (error == 0) return probe;
  if (error == kKilled) {
    probe.detail = "the child was killed";
    return probe;
  }
  const char* description = ::strerrordesc_np(error);
  probe.error_number = error;
  probe.detail = description != nullptr ? description : "errno " + std::to_string(error);
  return probe;
}

}  // namespace

std::vector<Probe> probe_kernel() {
  std::vector<Probe> probes;
  probes.reserve(kTried.size());
  for (const Tried& tried : kTried) {
    probes.push_back(
        make_probe(tried.name, tried.done, attempt_in(tried.namespaces, tried.attempt)));
  }
  return probes;
}

std::vector<Probe> probe_layers() {
  std::vector<Probe> probes;
  for (const Tried& tried : kTried) {
    if (tried.namespaces != 0) continue;
    probes.push_back(
        make_probe(tried.name, tried.done, attempt_in(tried.namespaces, tried.attempt)));
  }
  return probes;
}

std::optional<Refusal> refused_by_host() {
  Probe whole =
      make_probe("all-namespaces", "a whole sandbox", attempt_in(kAllNamespaces, whole_sandbox));
  if (whole.ok) return std::nullopt;
  Refusal refusal{std::move(whole), probe_kernel()};
  for (const Probe& probe : refusal.probes) {
    if (probe.ok || !is_required(probe)) continue;
    refusal.probe = probe;
    break;
  }
  return refusal;
}

bool is_required(const Probe& probe) {
  for (const Tried& tried : kTried) {
    if (probe.name == tried.name) return tried.required;
  }
  return true;
}

std::vector<SeccompAction> seccomp_actions() {
  struct Known {
    const char* name;
    std::uint32_t action;
  };
  constexpr std::array kKnown{Known{"kill-process", SECCOMP_RET_KILL_PROCESS},
                              Known{"kill-thread", SECCOMP_RET_KILL_THREAD},
                              Known{"trap", SECCOMP_RET_TRAP},
                              Known{"errno", SECCOMP_RET_ERRNO},
                              Known{"user-notif", SECCOMP_RET_USER_NOTIF},
                              Known{"trace", SECCOMP_RET_TRACE},
                              Known{"log", SECCOMP_RET_LOG},
                              Known{"allow", SECCOMP_RET_ALLOW}};
  std::vector<SeccompAction> actions;
  for (const Known& known : kKnown) {
    std::uint32_t action = known.action;
    const bool available = ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0U, &action) == 0;
    actions.push_back({known.name, available});
  }
  return actions;
}

Capabilities capabilities_of(BackendKind kind, const std::vector<Probe>& probes) {
  bool listens = false;
  for (const Probe& probe : probes) {
    if (probe.name == "seccomp-listener") listens = probe.ok;
  }
  Capabilities capabilities;
  capabilities.backend = kind;
  capabilities.fs_read = true;
  capabilities.fs_write = true;
  capabilities.execute = true;
  capabilities.net_block = true;
  capabilities.net_allow = listens;
  capabilities.network_host_filtering = listens;
  capabilities.deny_paths_supported = true;
  capabilities.environment_scrub = true;
  capabilities.tree_kill = true;
  capabilities.pid_limit = true;
  capabilities.memory_limit = true;
  capabilities.syscalls = true;
  return capabilities;
}

Error refusal_of(const Probe& probe) {
  return {.kind = ErrorKind::Unavailable,
          .what = "this host refuses " + probe.name,
          .hint = "cordon doctor says what to change",
          .error_number = probe.error_number};
}

Result<Capabilities> probe_native() {
  const std::vector<Probe> probes = probe_kernel();
  for (const Probe& probe : probes) {
    if (!probe.ok && is_required(probe)) return fail(refusal_of(probe));
  }
  return capabilities_of(BackendKind::Native, probes);
}

}  // namespace cordon::native
