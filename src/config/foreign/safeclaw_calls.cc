#include "config/foreign/safeclaw_calls.h"

#include "base/text.h"

namespace cordon {
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
