// Thin wrappers over system calls. All are async-signal-safe, allocate nothing and answer -errno on
// failure, so they may be used between clone and exec.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace cordon::sys {

inline constexpr std::uint64_t kResolveNoMagicLinks = 0x02;
inline constexpr std::uint64_t kResolveNoSymlinks = 0x04;
inline constexpr std::uint64_t kResolveBeneath = 0x08;
inline constexpr std::uint64_t kResolveInRoot = 0x10;
int openat2(int directory, const char* path, std::uint64_t flags, std::uint64_t mode,
            std::uint64_t resolve);

struct CloneResult {
  pid_t pid;  // 0 in the child, -errno on failure
  int pidfd;  // in the parent only
};
// A child without shared memory, in the namespaces of `flags`, its handlers reset. `cgroup` is a
// descriptor of a v2 group to be born in, or negative.
CloneResult clone_process(std::uint64_t flags, int cgroup);
// A child that shares this process's memory, thread-local storage included, and runs `body` on
// `stack`: nothing is copied and both go on. Only one of the two may run code that reads errno at a
// time. SIGCHLD to the parent.
pid_t share_process(int (*body)(void*), void* argument, char* stack, std::size_t size);
// -errno; it does not touch the shared errno.
int execute(const char* path, char* const* argv, char* const* environment);

int pidfd_send_signal(int pidfd, int signal);
int pidfd_open(pid_t process);
// The process of a pidfd as this one sees it; negative once it is reaped.
pid_t process_of(int pidfd);
struct ProcessUsage {
  std::uint64_t cpu_us = 0;
  std::uint64_t max_rss_bytes = 0;
};
int wait_pidfd(int pidfd, ProcessUsage& usage);  // reaps
// The processor time of one process by itself, as RLIMIT_CPU counts it; also of one that ended and
// was not reaped. Zero if there is no such process.
std::uint64_t processor_nanoseconds(pid_t process);
int close_range(unsigned first, unsigned last);

// Mounts. A tree is a detached copy of what a descriptor or path leads to.
int open_tree_at(int fd);                     // recursive, of a descriptor
int open_tree_path(const char* path);         // recursive, of a path
int open_tree_link(const char* path);         // of a symlink itself
int restrict_tree(int tree);                  // nosuid and nodev, recursive
int restrict_tree_read_only(int tree);        // the same and read-only
int make_tree_top_read_only(int tree);        // its first mount alone
int make_read_only(const char* path);         // one mount
int make_read_only_below(const char* path);   // every mount below this one, nosuid and nodev too
int attach_tree(int tree, const char* path);  // path relative to the working directory
int attach_tree_at(int tree, int target);     // onto what a descriptor leads to
// A detached tmpfs, as a tree; zero inodes: the kernel's default.
int new_tmpfs(std::uint64_t bytes, std::uint64_t inodes, const char* mode);
// A detached overlay, as a tree, nosuid and nodev. `between` is a second lower directory that lies
// over the first; -1: none. All must have been opened in this mount namespace. What is made without
// privilege needs `userxattr`; `volatile` spares an fsync for every file that is copied up.
int new_overlay(int lower, int between, int upper, int work);
int pivot_here();  // the working directory becomes the root

int join_new_session_keyring();
int set_hostname(const char* name, std::size_t length);
int bring_up_loopback();
// A non-blocking socket bound to 127.0.0.1 at `port`; one for streams listens.
int open_loopback_socket(int type, std::uint16_t port);
int drop_own_capabilities();   // effective, permitted, inheritable, ambient
int set_capabilities_empty();  // these and the bounding set, for what is executed next
int install_filter(const void* program, unsigned short length);

struct FileStatus {
  std::uint64_t device;
  std::uint64_t inode;
  std::uint32_t mode;
};
int status_of(int fd, FileStatus& status);

// From here to mount_status errno is left alone: see raw_call.h.
int status_at(const char* path, FileStatus& status);       // follows symlinks
int link_status_at(const char* path, FileStatus& status);  // that of a symlink itself
int status_below(int directory, const char* path, int flags, FileStatus& status);
// By access(2): for the real user, and as the mount permits.
bool may_write(const char* path);

struct MountStatus {
  std::uint64_t type;
  std::uint64_t system;  // which file system it is
  bool read_only;
};
// Whether something is mounted at exactly this name, which may be a symlink's.
bool is_mount_root(const char* path);
int mount_status(const char* path, MountStatus& status);
bool is_full(const char* path);  // no block or no inode is left

// Bytes in System V segments, semaphores and messages of this process's ipc namespace, whether
// anybody is attached to them or not.
std::uint64_t ipc_memory();
// True if the two tasks have one descriptor table; false also if that cannot be told.
bool share_descriptors(pid_t one, pid_t other);

inline constexpr std::uint64_t kBlockBytes = 512;  // of st_blocks, whatever the file system
inline constexpr std::uint64_t kTmpfsMagic = 0x01021994;
inline constexpr std::uint64_t kProcMagic = 0x9fa0;
inline constexpr std::uint64_t kOverlayMagic = 0x794c7630;

}  // namespace cordon::sys
