#include "sys/calls.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/kcmp.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "sys/answer.h"
#include "sys/raw_call.h"

namespace cordon::sys {
namespace {

struct OpenHow {
  std::uint64_t flags;
  std::uint64_t mode;
  std::uint64_t resolve;
};

constexpr unsigned kOpenTreeClone = 1;
constexpr unsigned kRecursive = 0x8000;  // AT_RECURSIVE
constexpr unsigned kMoveFromEmptyPath = 0x04;
constexpr unsigned kMoveToEmptyPath = 0x40;

struct MountAttribute {
  std::uint64_t set;
  std::uint64_t clear;
  std::uint64_t propagation;
  std::uint64_t userns;
};
constexpr std::uint64_t kAttributeReadOnly = 0x1;
constexpr std::uint64_t kAttributeNoSuid = 0x2;
constexpr std::uint64_t kAttributeNoDev = 0x4;

int set_attributes(int fd, const char* path, unsigned flags, std::uint64_t attributes) {
  MountAttribute attribute{attributes, 0, 0, 0};
  return value_or_errno(
      ::syscall(SYS_mount_setattr, fd, path, flags, &attribute, sizeof attribute));
}

// Decimal digits of `value`, NUL-terminated, in a caller's buffer; snprintf may take locks.
char* decimal(std::uint64_t value, char* end) {
  *--end = '\0';
  do {
    *--end = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  return end;
}

// Handlers point into a program that the child is about to leave; what is ignored stays so.
void reset_handlers() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) < 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    (void)::sigaction(signal, &action, nullptr);
  }
}

// Filters of containers answer that there is no clone3, because they cannot see its flags.
CloneResult clone_without_clone3(int cgroup) {
  int pidfd = -1;
  const int pid = value_or_errno(::syscall(SYS_clone, CLONE_PIDFD | SIGCHLD, 0, &pidfd, 0, 0));
  if (pid != 0) return {pid, pidfd};
  reset_handlers();
  if (cgroup >= 0) {
    const int members = ::openat(cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);
    if (members < 0 || ::write(members, "0", 1) != 1) ::_exit(125);
    ::close(members);
  }
  return {0, -1};
}

}  // namespace

int openat2(int directory, const char* path, std::uint64_t flags, std::uint64_t mode,
            std::uint64_t resolve) {
  OpenHow how{flags, mode, resolve};
  return value_or_errno(::syscall(SYS_openat2, directory, path, &how, sizeof how));
}

CloneResult clone_process(std::uint64_t flags, int cgroup) {
  int pidfd = -1;
  clone_args arguments{};
  arguments.flags = flags | CLONE_PIDFD | CLONE_CLEAR_SIGHAND;
  arguments.pidfd = reinterpret_cast<std::uintptr_t>(&pidfd);
  arguments.exit_signal = SIGCHLD;
  if (cgroup >= 0) {
    arguments.flags |= CLONE_INTO_CGROUP;
    arguments.cgroup = static_cast<unsigned>(cgroup);
  }
  const int pid = value_or_errno(::syscall(SYS_clone3, &arguments, sizeof arguments));
  if (pid == -ENOSYS && flags == 0) return clone_without_clone3(cgroup);
  return {pid, pidfd};
}

pid_t share_process(int (*body)(void*), void* argument, char* stack, std::size_t size) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // The sanitizers know one stack for each thread: under them the child is a copy with its own.
  static_cast<void>(stack + size);
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  const int pid = value_or_errno(::syscall(SYS_clone3, &arguments, sizeof arguments));
  if (pid == 0) ::_exit(body(argument));
  return pid;
#else
  return value_or_errno(::clone(body, stack + size, CLONE_VM | SIGCHLD, argument));
#endif
}

int execute(const char* path, char* const* argv, char* const* environment) {
  return static_cast<int>(raw_call(SYS_execve, path, argv, environment));
}

int pidfd_send_signal(int pidfd, int signal) {
  return value_or_errno(::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0));
}

int pidfd_open(pid_t process) { return value_or_errno(::syscall(SYS_pidfd_open, process, 0)); }

pid_t process_of(int pidfd) {
  char path[40] = "/proc/self/fdinfo/";
  char* at = path + std::strlen(path);
  char digits[12];
  std::size_t count = 0;
  for (auto rest = static_cast<unsigned>(pidfd); count == 0 || rest != 0; rest /= 10) {
    digits[count++] = static_cast<char>('0' + rest % 10);
  }
  while (count > 0) *at++ = digits[--count];
  *at = '\0';
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  char text[256];
  const ssize_t got = ::read(file, text, sizeof text - 1);
  ::close(file);
  text[got > 0 ? got : 0] = '\0';
  const char* field = std::strstr(text, "\nPid:\t");
  if (field == nullptr) return -1;
  pid_t process = 0;
  for (field += 6; *field >= '0' && *field <= '9'; ++field) process = process * 10 + (*field - '0');
  return process > 0 ? process : -1;
}

std::uint64_t processor_nanoseconds(pid_t process) {
  // The kernel's id of another process's clock for user and system time together.
  const auto clock = static_cast<clockid_t>(~static_cast<unsigned>(process) << 3U);
  timespec time{};
  if (::clock_gettime(clock, &time) < 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

int wait_pidfd(int pidfd, ProcessUsage& usage) {
  constexpr int kByPidfd = 3;
  siginfo_t info{};
  rusage used{};
  // The raw call: the library's wrapper does not hand out the usage.
  const int result = value_or_errno(::syscall(SYS_waitid, kByPidfd, pidfd, &info, WEXITED, &used));
  if (result < 0) return result;
  const auto micro = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
           static_cast<std::uint64_t>(time.tv_usec);
  };
  usage.cpu_us = micro(used.ru_utime) + micro(used.ru_stime);
  usage.max_rss_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
  return 0;
}

int close_range(unsigned first, unsigned last) {
  return value_or_errno(::syscall(SYS_close_range, first, last, 0));
}

int open_tree_at(int fd) {
  return value_or_errno(
      ::syscall(SYS_open_tree, fd, "", kOpenTreeClone | kRecursive | AT_EMPTY_PATH | O_CLOEXEC));
}

int open_tree_path(const char* path) {
  return value_or_errno(
      ::syscall(SYS_open_tree, AT_FDCWD, path, kOpenTreeClone | kRecursive | O_CLOEXEC));
}

int open_tree_link(const char* path) {
  return value_or_errno(
      ::syscall(SYS_open_tree, AT_FDCWD, path, kOpenTreeClone | AT_SYMLINK_NOFOLLOW | O_CLOEXEC));
}

int restrict_tree(int tree) {
  return set_attributes(tree, "", AT_EMPTY_PATH | kRecursive, kAttributeNoSuid | kAttributeNoDev);
}

int restrict_tree_read_only(int tree) {
  return set_attributes(tree, "", AT_EMPTY_PATH | kRecursive,
                        kAttributeNoSuid | kAttributeNoDev | kAttributeReadOnly);
}

int make_tree_top_read_only(int tree) {
  return set_attributes(tree, "", AT_EMPTY_PATH,
                        kAttributeNoSuid | kAttributeNoDev | kAttributeReadOnly);
}

int make_read_only(const char* path) {
  return set_attributes(AT_FDCWD, path, 0, kAttributeReadOnly);
}

int make_read_only_below(const char* path) {
  const int result = set_attributes(AT_FDCWD, path, kRecursive,
                                    kAttributeNoSuid | kAttributeNoDev | kAttributeReadOnly);
  if (result < 0) return result;
  MountAttribute writable{0, kAttributeReadOnly, 0, 0};
  return value_or_errno(
      ::syscall(SYS_mount_setattr, AT_FDCWD, path, 0, &writable, sizeof writable));
}

int attach_tree(int tree, const char* path) {
  return value_or_errno(::syscall(SYS_move_mount, tree, "", AT_FDCWD, path, kMoveFromEmptyPath));
}

int attach_tree_at(int tree, int target) {
  return value_or_errno(
      ::syscall(SYS_move_mount, tree, "", target, "", kMoveFromEmptyPath | kMoveToEmptyPath));
}

int new_tmpfs(std::uint64_t bytes, std::uint64_t inodes, const char* mode) {
  constexpr unsigned kSetString = 1;
  constexpr unsigned kCreate = 6;
  const int context = value_or_errno(::syscall(SYS_fsopen, "tmpfs", 1U));
  if (context < 0) return context;
  char buffer[24];
  const auto option = [&](const char* key, const char* value) {
    return value_or_errno(::syscall(SYS_fsconfig, context, kSetString, key, value, 0));
  };
  int result = option("size", decimal(bytes, buffer + sizeof buffer));
  if (result >= 0 && inodes > 0) {
    result = option("nr_inodes", decimal(inodes, buffer + sizeof buffer));
  }
  if (result >= 0) result = option("mode", mode);
  if (result >= 0)
    result = value_or_errno(::syscall(SYS_fsconfig, context, kCreate, nullptr, nullptr, 0));
  if (result >= 0) {
    result =
        value_or_errno(::syscall(SYS_fsmount, context, 1U, kAttributeNoSuid | kAttributeNoDev));
  }
  ::close(context);
  return result;
}

// The layers are named by descriptor: a path of the host would have its commas and colons taken for
// syntax (a comma by 6.1 even where each option is a call of its own), and could lead elsewhere by
// now.
int new_overlay(int lower, int between, int upper, int work) {
  constexpr unsigned kSetFlag = 0;
  constexpr unsigned kSetString = 1;
  constexpr unsigned kCreate = 6;
  const int context = value_or_errno(::syscall(SYS_fsopen, "overlay", 1U));
  if (context < 0) return context;
  constexpr std::string_view kPrefix = "/proc/self/fd/";
  constexpr std::size_t kDigits = 12;
  char path[2 * (kPrefix.size() + kDigits) + 2] = {};
  std::size_t length = 0;
  const auto add = [&](int directory) {
    char buffer[24];
    for (const char letter : kPrefix) path[length++] = letter;
    for (const char* digit = decimal(static_cast<std::uint64_t>(directory), buffer + sizeof buffer);
         *digit != '\0'; ++digit) {
      path[length++] = *digit;
    }
  };
  const auto set = [&](const char* key) {
    path[length] = '\0';
    length = 0;
    return value_or_errno(::syscall(SYS_fsconfig, context, kSetString, key, path, 0));
  };
  const auto flag = [&](const char* key) {
    return value_or_errno(::syscall(SYS_fsconfig, context, kSetFlag, key, nullptr, 0));
  };
  if (between >= 0) {
    add(between);
    path[length++] = ':';
  }
  add(lower);
  int result = set("lowerdir");
  if (result >= 0) {
    add(upper);
    result = set("upperdir");
  }
  if (result >= 0) {
    add(work);
    result = set("workdir");
  }
  if (result >= 0) result = flag("userxattr");
  if (result >= 0) result = flag("volatile");
  if (result >= 0)
    result = value_or_errno(::syscall(SYS_fsconfig, context, kCreate, nullptr, nullptr, 0));
  if (result >= 0) {
    result =
        value_or_errno(::syscall(SYS_fsmount, context, 1U, kAttributeNoSuid | kAttributeNoDev));
  }
  ::close(context);
  return result;
}

int pivot_here() {
  const int result = value_or_errno(::syscall(SYS_pivot_root, ".", "."));
  if (result < 0) return result;
  // The old root is now stacked below the working directory.
  if (::umount2(".", MNT_DETACH) < 0) return -errno;
  return value_or_errno(::chdir("/"));
}

int join_new_session_keyring() {
  return value_or_errno(::syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr, 0, 0, 0));
}

int set_hostname(const char* name, std::size_t length) {
  return value_or_errno(::sethostname(name, length));
}

int bring_up_loopback() {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  ifreq request{};
  std::memcpy(request.ifr_name, "lo", 3);
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  const int result = value_or_errno(::ioctl(fd, SIOCSIFFLAGS, &request));
  ::close(fd);
  return result;
}

int open_loopback_socket(int type, std::uint16_t port) {
  const int fd = ::socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -errno;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int result =
      value_or_errno(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address));
  if (result >= 0 && type == SOCK_STREAM) result = value_or_errno(::listen(fd, SOMAXCONN));
  if (result >= 0) return fd;
  ::close(fd);
  return result;
}

int set_capabilities_empty() {
  // The bounding set first: dropping from it needs a capability.
  for (unsigned long capability = 0; capability < 64; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0) {
      if (errno == EINVAL && capability > 0) break;
      return -errno;
    }
  }
  return drop_own_capabilities();
}

int drop_own_capabilities() {
  if (::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0) return -errno;
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  __user_cap_data_struct empty[2]{};
  return value_or_errno(::syscall(SYS_capset, &header, empty));
}

int install_filter(const void* program, unsigned short length) {
  sock_fprog filter{};
  filter.len = length;
  filter.filter = const_cast<sock_filter*>(static_cast<const sock_filter*>(program));
  return value_or_errno(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0U, &filter));
}

int status_of(int fd, FileStatus& status) {
  struct stat data {};
  if (::fstat(fd, &data) < 0) return -errno;
  status = {data.st_dev, data.st_ino, data.st_mode};
  return 0;
}

int status_at(const char* path, FileStatus& status) {
  return status_below(AT_FDCWD, path, 0, status);
}

int link_status_at(const char* path, FileStatus& status) {
  return status_below(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, status);
}

int status_below(int directory, const char* path, int flags, FileStatus& status) {
  // The kernel's own structure is the library's on both architectures.
  struct stat data {};
  const long answer = raw_call(SYS_newfstatat, directory, path, &data, flags);
  if (answer < 0) return static_cast<int>(answer);
  status = {data.st_dev, data.st_ino, data.st_mode};
  return 0;
}

bool may_write(const char* path) { return raw_call(SYS_faccessat, AT_FDCWD, path, W_OK) == 0; }

bool is_full(const char* path) {
  struct statfs data {};
  return ::statfs(path, &data) == 0 && (data.f_bfree == 0 || data.f_ffree == 0);
}

bool is_mount_root(const char* path) {
  struct statx data {};
  if (raw_call(SYS_statx, AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &data) < 0) {
    return false;
  }
  constexpr std::uint64_t kMountRoot = 0x2000;  // STATX_ATTR_MOUNT_ROOT
  return (data.stx_attributes & kMountRoot) != 0;
}

std::uint64_t ipc_memory() {
  constexpr std::uint64_t kSemaphoreBytes = 64;  // the kernel gives each a cache line
  std::uint64_t total = 0;
  // The three calls answer in structures that are not those their prototypes name.
  shm_info segments{};
  if (::shmctl(0, SHM_INFO, static_cast<shmid_ds*>(static_cast<void*>(&segments))) >= 0) {
    total += (segments.shm_rss + segments.shm_swp) * static_cast<std::uint64_t>(::getpagesize());
  }
  seminfo semaphores{};
  union {  // what the caller of semctl has to define
    int value;
    seminfo* info;
  } argument{};
  argument.info = &semaphores;
  if (::semctl(0, 0, SEM_INFO, argument) >= 0) {
    total += static_cast<std::uint64_t>(semaphores.semaem) * kSemaphoreBytes;
  }
  msginfo messages{};
  if (::msgctl(0, MSG_INFO, static_cast<msqid_ds*>(static_cast<void*>(&messages))) >= 0) {
    total += static_cast<std::uint64_t>(messages.msgtql);
  }
  return total;
}

bool share_descriptors(pid_t one, pid_t other) {
  return ::syscall(SYS_kcmp, one, other, KCMP_FILES, 0UL, 0UL) == 0;
}

int mount_status(const char* path, MountStatus& status) {
  struct statfs data {};
  const long answer = raw_call(SYS_statfs, path, &data);
  if (answer < 0) return static_cast<int>(answer);
  constexpr long kReadOnlyFlag = 1;  // ST_RDONLY
  status.type = static_cast<std::uint64_t>(data.f_type) & 0xffffffffU;
  std::memcpy(&status.system, &data.f_fsid, sizeof status.system);
  status.read_only = (data.f_flags & kReadOnlyFlag) != 0;
  return 0;
}

}  // namespace cordon::sys
