// Attempts on namespaces, mounts and the rarer system calls.
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/landlock.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <cstdio>
#include <cstring>

#include "probe.h"

namespace probe {
namespace {

struct NamedCall {
  std::string_view name;
  long number;
};

// What the attempts call by name: those a sandbox refuses outright, and plain ones as controls.
constexpr NamedCall kCalls[] = {
    {"acct", SYS_acct},
    {"add_key", SYS_add_key},
    {"adjtimex", SYS_adjtimex},
    {"bpf", SYS_bpf},
    {"clock_adjtime", SYS_clock_adjtime},
    {"clock_settime", SYS_clock_settime},
    {"delete_module", SYS_delete_module},
    {"fanotify_init", SYS_fanotify_init},
    {"finit_module", SYS_finit_module},
    {"fsconfig", SYS_fsconfig},
    {"fsmount", SYS_fsmount},
    {"fsopen", SYS_fsopen},
    {"fspick", SYS_fspick},
    {"getpid", SYS_getpid},
    {"init_module", SYS_init_module},
    {"io_uring_enter", SYS_io_uring_enter},
    {"io_uring_register", SYS_io_uring_register},
    {"io_uring_setup", SYS_io_uring_setup},
    {"kcmp", SYS_kcmp},
    {"kexec_file_load", SYS_kexec_file_load},
    {"kexec_load", SYS_kexec_load},
    {"keyctl", SYS_keyctl},
    {"lookup_dcookie", SYS_lookup_dcookie},
    {"mount", SYS_mount},
    {"mount_setattr", SYS_mount_setattr},
    {"move_mount", SYS_move_mount},
    {"move_pages", SYS_move_pages},
    {"name_to_handle_at", SYS_name_to_handle_at},
    {"nfsservctl", SYS_nfsservctl},
    {"open_by_handle_at", SYS_open_by_handle_at},
    {"open_tree", SYS_open_tree},
    {"perf_event_open", SYS_perf_event_open},
    {"pivot_root", SYS_pivot_root},
    {"process_madvise", SYS_process_madvise},
    {"ptrace", SYS_ptrace},
    {"quotactl", SYS_quotactl},
    {"quotactl_fd", SYS_quotactl_fd},
    {"reboot", SYS_reboot},
    {"request_key", SYS_request_key},
    {"setdomainname", SYS_setdomainname},
    {"sethostname", SYS_sethostname},
    {"setns", SYS_setns},
    {"settimeofday", SYS_settimeofday},
    {"swapoff", SYS_swapoff},
    {"swapon", SYS_swapon},
    {"syslog", SYS_syslog},
    {"umount2", SYS_umount2},
    {"unshare", SYS_unshare},
    {"userfaultfd", SYS_userfaultfd},
};

// Every argument is -1, which no pointer, descriptor or flag word can be: a call that reaches the
// kernel fails on it (EFAULT, EINVAL, EBADF), one that a filter stops fails with the filter's word.
Verdict call_by_name(const Arguments& a) {
  long call = -1;
  for (const NamedCall& known : kCalls) {
    if (known.name == a[0]) call = known.number;
  }
  if (call < 0) call = number(a[0]);
  long arguments[6] = {-1, -1, -1, -1, -1, -1};
  for (std::size_t i = 1; i < a.size() && i <= 6; ++i) arguments[i - 1] = number(a[i]);
  return by_result(syscall(call, arguments[0], arguments[1], arguments[2], arguments[3],
                           arguments[4], arguments[5]));
}

Verdict unshare_user(const Arguments&) { return by_result(unshare(CLONE_NEWUSER)); }
Verdict unshare_mount(const Arguments&) { return by_result(unshare(CLONE_NEWNS)); }
Verdict unshare_network(const Arguments&) { return by_result(unshare(CLONE_NEWNET)); }

// Takes a user namespace and, in it, a tmpfs over DIR: the way to uncover what a mask hides.
Verdict nested_mount(const Arguments& a) {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) return refused("unshare");
  return by_result(mount("none", a[0].c_str(), "tmpfs", 0, nullptr));
}

Verdict reap(pid_t child) {
  if (child < 0) return refused();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, __WALL);
  return done();
}

Verdict clone_newuser(const Arguments&) {
  return reap(static_cast<pid_t>(
      syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr)));
}

struct CloneArguments {  // the first published size of the kernel's struct
  std::uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
};

Verdict clone3_with(std::uint64_t flags) {
  CloneArguments arguments{};
  arguments.flags = flags;
  arguments.exit_signal = SIGCHLD;
  return reap(static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments)));
}
Verdict clone3_newuser(const Arguments&) { return clone3_with(CLONE_NEWUSER); }
Verdict clone3_plain(const Arguments&) { return clone3_with(0); }

Verdict join_namespace(const Arguments& a) {
  const int fd = open(a[0].c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return refused("open");
  return by_result(setns(fd, 0));
}

Verdict mount_tmpfs(const Arguments& a) {
  return by_result(mount("none", a[0].c_str(), "tmpfs", 0, nullptr));
}
Verdict mount_bind(const Arguments& a) {
  return by_result(mount(a[0].c_str(), a[1].c_str(), nullptr, MS_BIND, nullptr));
}
Verdict mount_proc(const Arguments& a) {
  return by_result(mount("proc", a[0].c_str(), "proc", 0, nullptr));
}
Verdict mount_cgroup(const Arguments& a) {
  return by_result(mount("none", a[0].c_str(), "cgroup", 0, "none,name=cordonprobe"));
}
Verdict remount_writable(const Arguments& a) {
  return by_result(mount(nullptr, a[0].c_str(), nullptr, MS_REMOUNT | MS_BIND, nullptr));
}
Verdict unmount(const Arguments& a) { return by_result(umount2(a[0].c_str(), MNT_DETACH)); }
Verdict open_context(const Arguments&) { return by_result(syscall(SYS_fsopen, "tmpfs", 0)); }
Verdict open_tree_clone(const Arguments& a) {
  constexpr unsigned kClone = 1;
  return by_result(syscall(SYS_open_tree, AT_FDCWD, a[0].c_str(), kClone));
}
Verdict pivot(const Arguments& a) {
  return by_result(syscall(SYS_pivot_root, a[0].c_str(), a[0].c_str()));
}
Verdict change_root(const Arguments& a) { return by_result(chroot(a[0].c_str())); }

Verdict io_uring(const Arguments&) {
  io_uring_params parameters{};
  return by_result(syscall(SYS_io_uring_setup, 2, &parameters));
}

Verdict bpf_map(const Arguments&) {
  bpf_attr attributes{};
  attributes.map_type = BPF_MAP_TYPE_ARRAY;
  attributes.key_size = 4;
  attributes.value_size = 4;
  attributes.max_entries = 1;
  return by_result(syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes));
}

Verdict perf(const Arguments&) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  return by_result(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

Verdict fault_descriptor(const Arguments&) {
  return by_result(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
}

constexpr int kSessionKeyring = -3;
constexpr int kUserKeyring = -4;

Verdict keyring_id(const Arguments&) {
  return by_result(syscall(SYS_keyctl, 0, kSessionKeyring, 1));
}
Verdict add_key(const Arguments& a) {
  const std::string name = a.empty() ? "cordon-probe" : a[0];
  return by_result(syscall(SYS_add_key, "user", name.c_str(), "SECRET-KEY", 10, kUserKeyring));
}
// Finds a key by name in the user's keyring and reads it.
Verdict read_key(const Arguments& a) {
  const long key = syscall(SYS_keyctl, 10, kUserKeyring, "user", a[0].c_str(), 0);
  if (key < 0) return refused("search");
  char value[64] = {};
  return by_result(syscall(SYS_keyctl, 11, key, value, sizeof value - 1), value);
}
Verdict remove_key(const Arguments& a) {
  const long key = syscall(SYS_keyctl, 10, kUserKeyring, "user", a[0].c_str(), 0);
  if (key < 0) return refused("search");
  return by_result(syscall(SYS_keyctl, 9, key, kUserKeyring));
}
Verdict request_key(const Arguments& a) {
  return by_result(syscall(SYS_request_key, "user", a[0].c_str(), nullptr, 0));
}

// A filter of one's own only narrows: allowed. With a listener it could answer for others: not.
Verdict install_filter(unsigned flags) {
  sock_filter allow = {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW};
  const sock_fprog program = {1, &allow};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return refused("no_new_privs");
  return by_result(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program));
}
Verdict own_filter(const Arguments&) { return install_filter(0); }
Verdict listening_filter(const Arguments&) {
  return install_filter(SECCOMP_FILTER_FLAG_NEW_LISTENER);
}

Verdict landlock_ruleset(const Arguments&) {
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE;
  return by_result(syscall(444, &attributes, sizeof attributes.handled_access_fs, 0));
}

// A second Landlock domain that asks the kernel to keep quiet about its refusals.
Verdict landlock_mute(const Arguments& a) {
  landlock_ruleset_attr attributes{};
  attributes.handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK;
  const auto fd =
      static_cast<int>(syscall(444, &attributes, sizeof attributes.handled_access_fs, 0));
  if (fd < 0) return refused("ruleset");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return refused("no_new_privs");
  constexpr unsigned kLogNothing = 1U | 4U;
  if (syscall(446, fd, kLogNothing) < 0) return refused("restrict");
  const int secret = open(a[0].c_str(), O_RDONLY | O_CLOEXEC);
  return by_result(secret, "restricted");
}

Verdict clear_death_signal(const Arguments&) {
  return by_result(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0));
}
Verdict allow_tracer(const Arguments& a) {
  return by_result(prctl(0x59616d61, number(a[0]), 0, 0, 0));
}
Verdict change_memory_map(const Arguments&) {
  return by_result(prctl(PR_SET_MM, PR_SET_MM_BRK, sbrk(0), 0, 0));
}
Verdict set_personality(const Arguments&) { return by_result(personality(ADDR_NO_RANDOMIZE)); }

// Writable and executable at once, by the two usual roads.
Verdict executable_memory(const Arguments&) {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return refused("mmap");
  return by_result(mprotect(page, 4096, PROT_READ | PROT_EXEC));
}
Verdict executable_shm(const Arguments&) {
  const int id = shmget(IPC_PRIVATE, 4096, 0700 | IPC_CREAT);
  if (id < 0) return refused("shmget");
  const void* at = shmat(id, nullptr, SHM_EXEC);
  const int error = errno;
  shmctl(id, IPC_RMID, nullptr);
  errno = error;
  return reinterpret_cast<long>(at) == -1 ? refused("shmat") : done();
}

// Puts a page of PATH in a pipe and writes into the pipe: CVE-2022-0847 wrote to the file's cache.
Verdict splice_into_cache(const Arguments& a) {
  const int fd = open(a[0].c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return refused("open");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return refused("pipe");
  std::string block(4096, 'x');
  while (write(ends[1], block.data(), block.size()) > 0) continue;
  while (read(ends[0], block.data(), block.size()) > 0) continue;
  loff_t offset = 0;
  if (splice(fd, &offset, ends[1], nullptr, 1, 0) != 1) return refused("splice");
  if (write(ends[1], "POISON", 6) != 6) return refused("write");
  const std::string now = read_whole(a[0]);
  return {now.find("POISON") != std::string::npos, 0, now.substr(0, 32)};
}

constexpr Attempt kAttempts[] = {
    {"syscall", "NAME|NUMBER [ARGUMENT]...", 1, call_by_name},
    {"unshare-user", "", 0, unshare_user},
    {"unshare-mount", "", 0, unshare_mount},
    {"unshare-net", "", 0, unshare_network},
    {"nested-mount", "DIR", 1, nested_mount},
    {"clone-newuser", "", 0, clone_newuser},
    {"clone3-newuser", "", 0, clone3_newuser},
    {"clone3-plain", "", 0, clone3_plain},
    {"setns", "PATH", 1, join_namespace},
    {"mount-tmpfs", "DIR", 1, mount_tmpfs},
    {"mount-bind", "FROM TO", 2, mount_bind},
    {"mount-proc", "DIR", 1, mount_proc},
    {"mount-cgroup", "DIR", 1, mount_cgroup},
    {"remount-writable", "DIR", 1, remount_writable},
    {"umount", "DIR", 1, unmount},
    {"fsopen", "", 0, open_context},
    {"open-tree", "DIR", 1, open_tree_clone},
    {"pivot", "DIR", 1, pivot},
    {"chroot", "DIR", 1, change_root},
    {"io-uring", "", 0, io_uring},
    {"bpf", "", 0, bpf_map},
    {"perf", "", 0, perf},
    {"userfaultfd", "", 0, fault_descriptor},
    {"keyctl", "", 0, keyring_id},
    {"add-key", "[NAME]", 0, add_key},
    {"read-key", "NAME", 1, read_key},
    {"remove-key", "NAME", 1, remove_key},
    {"request-key", "NAME", 1, request_key},
    {"own-filter", "", 0, own_filter},
    {"listening-filter", "", 0, listening_filter},
    {"landlock-ruleset", "", 0, landlock_ruleset},
    {"landlock-mute", "PATH", 1, landlock_mute},
    {"pdeathsig-clear", "", 0, clear_death_signal},
    {"set-ptracer", "PID", 1, allow_tracer},
    {"set-mm", "", 0, change_memory_map},
    {"personality", "", 0, set_personality},
    {"exec-memory", "", 0, executable_memory},
    {"exec-shm", "", 0, executable_shm},
    {"splice-cache", "PATH", 1, splice_into_cache},
};

}  // namespace

std::span<const Attempt> kernel_attempts() { return kAttempts; }

}  // namespace probe
