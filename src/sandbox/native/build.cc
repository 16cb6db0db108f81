#include "sandbox/native/build.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <variant>

#include "base/fd.h"
#include "sandbox/native/confine.h"
#include "sys/answer.h"
#include "sys/calls.h"
#include "sys/ids.h"
#include "sys/landlock.h"

namespace cordon::native {
namespace {

// Names in the new root that exist only while it is built.
constexpr const char* kScratch = ".scratch";
constexpr const char* kMaskFile = ".mask-file";
constexpr const char* kMaskDirectory = ".mask-directory";

constexpr std::uint16_t kResolverPort = 53;
constexpr std::uint64_t kTcpRights = sys::landlock::kBindTcp | sys::landlock::kConnectTcp;

constexpr std::uint64_t kCgroup2Magic = 0x63677270;

// Names and targets of symlinks take pages only where they are long.
constexpr std::uint64_t kSkeletonBytes = 4ULL << 20;
constexpr std::uint64_t kSkeletonInodes = 16;

// Before the pivot the working directory is the new root, so an inside path is relative to it.
const char* relative(const std::string& path) { return path.size() > 1 ? path.c_str() + 1 : "."; }

bool is_set(const FileId& id) { return id.inode != 0 || id.device != 0; }

int same_object(int fd, const FileId& id) {
  sys::FileStatus status{};
  if (const int error = sys::status_of(fd, status); error < 0) return error;
  // The name leads to something else than what was judged: a swap, never followed.
  return status.device == id.device && status.inode == id.inode ? 0 : -ESTALE;
}

// Opens a mount target below the working directory. Symlinks are refused: a target inside a
// writable grant can be replaced by whoever else works there.
int open_target(const std::string& path) {
  return sys::openat2(AT_FDCWD, relative(path), O_PATH | O_NOFOLLOW | O_CLOEXEC, 0,
                      sys::kResolveNoSymlinks | sys::kResolveNoMagicLinks);
}

int open_verified_target(const std::string& path, const FileId& id) {
  const int target = open_target(path);
  if (target < 0) return target == -ENOENT ? -ESTALE : target;
  if (const int error = same_object(target, id); error < 0) {
    ::close(target);
    return error;
  }
  return target;
}

// In an overlay objects have other numbers than on the host. The name is looked up there, without
// symlinks, and what it leads to is compared; the overlay shows the same.
int open_staged_target(const op::Mask& o) {
  const int host = sys::openat2(AT_FDCWD, o.path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC, 0,
                                sys::kResolveNoSymlinks | sys::kResolveNoMagicLinks);
  if (host < 0) return host == -ENOENT ? -ESTALE : host;
  const int error = same_object(host, o.id);
  ::close(host);
  return error < 0 ? error : open_target(o.path);
}

int write_file(const char* path, const std::string& content, unsigned mode) {
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
  if (fd < 0) return -errno;
  const int result = -write_whole(fd, content);
  ::close(fd);
  return result;
}

int write_proc(const char* path, const char* text, std::size_t size) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  const int result = sys::zero_or_errno(::write(fd, text, size));
  ::close(fd);
  return result;
}

// Makes an empty file with one call; used as a mount point.
int make_empty(const char* path, unsigned mode) {
  return sys::zero_or_errno(::mknod(path, S_IFREG | mode, 0));
}

// One file without permission bits and one empty directory, bound wherever something is masked.
int prepare_masks(BuildState& state) {
  if (state.masks_ready) return 0;
  if (const int error = make_empty(kMaskFile, 0); error < 0) return error;
  if (::mkdir(kMaskDirectory, 0555) < 0) return -errno;
  state.masks_ready = true;
  return 0;
}

// Their binds stay; only the names go.
int remove_mask_names() {
  if (::unlink(kMaskFile) < 0) return -errno;
  return sys::zero_or_errno(::rmdir(kMaskDirectory));
}

// One entry of a directory that is shown as it is now.
int make_place(int directory, const op::Skeleton::Entry& entry) {
  if (!entry.target.empty()) {
    return sys::zero_or_errno(::symlinkat(entry.target.c_str(), directory, entry.name.c_str()));
  }
  if (entry.kind == FileKind::Directory) {
    return sys::zero_or_errno(::mkdirat(directory, entry.name.c_str(), 0755));
  }
  return sys::zero_or_errno(::mknodat(directory, entry.name.c_str(), S_IFREG, 0));
}

int close_and_answer(int descriptor, int answer) {
  ::close(descriptor);
  return answer;
}

int attach_and_close(int tree, int target) {
  int result = tree;
  if (tree >= 0) {
    result = sys::attach_tree_at(tree, target);
    ::close(tree);
  }
  ::close(target);
  return result < 0 ? result : 0;
}

std::uint64_t rights_of(LandlockUse use, int abi) {
  namespace ll = sys::landlock;
  constexpr std::uint64_t kRead = ll::kReadFile | ll::kReadDir;
  std::uint64_t rights = 0;
  switch (use) {
    case LandlockUse::List:
      rights = ll::kReadDir;
      break;
    case LandlockUse::Read:
      rights = kRead;
      break;
    case LandlockUse::ReadExecute:
      rights = kRead | ll::kExecute;
      break;
    case LandlockUse::ReadWrite:
      rights = ll::file_rights(abi) & ~(ll::kMakeChar | ll::kMakeBlock | ll::kIoctlDev);
      break;
    case LandlockUse::Device:
      rights = kRead | ll::kWriteFile | ll::kTruncate | ll::kIoctlDev;
      break;
  }
  return rights & ll::file_rights(abi);
}

// What a rule is for. A granted object is the one that was judged; what the system is made of may
// be reached by symlinks.
int open_granted(const op::LandlockAllow& o) {
  if (!is_set(o.id)) {
    const int path = ::open(o.path.c_str(), O_PATH | O_CLOEXEC);
    return path < 0 ? -errno : path;
  }
  const int path = sys::openat2(AT_FDCWD, o.path.c_str(), O_PATH | O_CLOEXEC, 0,
                                sys::kResolveNoSymlinks | sys::kResolveNoMagicLinks);
  if (path < 0) return path == -ENOENT ? -ESTALE : path;
  if (const int error = same_object(path, o.id); error < 0) {
    ::close(path);
    return error;
  }
  return path;
}

// The source of a mount. A granted object is reached without symlinks; directories of Cordon's own
// and entries of "/" are what they are.
int open_source(const op::Bind& o) {
  if (is_set(o.id)) {
    return sys::openat2(AT_FDCWD, o.source.c_str(), O_PATH | O_CLOEXEC, 0,
                        sys::kResolveNoSymlinks | sys::kResolveNoMagicLinks);
  }
  const int source = ::open(o.source.c_str(), O_PATH | O_CLOEXEC);
  return source < 0 ? -errno : source;
}

// A private copy lies in the state directory, whose own path may lead through symlinks.
int open_copy(const op::PrivateCopy& o) {
  const int source = ::open(o.source.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC);
  return source < 0 ? -errno : source;
}

// The directories of a staged tree. The host's own was judged; those of Cordon's lie in the state
// directory. One that the tree does not have is the upper once more.
int open_stage_source(const op::StagedTree& o, std::size_t which) {
  if (which == 0) {
    return sys::openat2(AT_FDCWD, o.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
                        sys::kResolveNoSymlinks | sys::kResolveNoMagicLinks);
  }
  const std::string& own = which == 1 ? o.upper : which == 2 ? o.work : o.steady;
  const std::string& path = own.empty() ? o.upper : own;
  const int source = ::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  return source < 0 ? -errno : source;
}

// A kernel mounts an overlay also on an upper directory that cannot keep what it needs there (a
// tmpfs of Linux 6.1, a file system without `user.` attributes). What was deleted would come back,
// or could not be deleted. So both marks of a deletion are made in the upper and taken away again:
// an attribute, and a device that stands for a name that is gone. Then a directory that is made
// through the overlay has to appear in the upper.
int try_stage(int tree, int upper_path) {
  constexpr const char* kMark = "user.overlay.cordon";
  constexpr std::size_t kRandom = 16;
  char name[8 + kRandom + 1] = ".cordon-";
  unsigned char random[kRandom];
  if (::getrandom(random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) return -EIO;
  for (std::size_t i = 0; i < kRandom; ++i) {
    name[8 + i] = static_cast<char>('a' + random[i] % 16);
  }
  const int upper = ::openat(upper_path, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (upper < 0) return -errno;
  int result = sys::zero_or_errno(::fsetxattr(upper, kMark, "y", 1, 0));
  if (result == 0) result = sys::zero_or_errno(::fremovexattr(upper, kMark));
  if (result == 0) result = sys::zero_or_errno(::mknodat(upper, name, S_IFCHR, 0));
  if (result == 0) result = sys::zero_or_errno(::unlinkat(upper, name, 0));
  if (result == 0) result = sys::zero_or_errno(::mkdirat(tree, name, 0700));
  if (result == 0) {
    struct stat status {};
    result = sys::zero_or_errno(::fstatat(upper, name, &status, AT_SYMLINK_NOFOLLOW));
    const int removed = sys::zero_or_errno(::unlinkat(tree, name, AT_REMOVEDIR));
    if (result == 0) result = removed;
  }
  ::close(upper);
  return result;
}

class CarryOut {
 public:
  CarryOut(const Prepared& prepared, BuildState& state) : prepared_(prepared), state_(state) {}

  // The clone itself did it; only its outcome is measured.
  int operator()(const op::EnterNamespaces&) const { return 0; }

  int operator()(const op::MapIdentity& o) const {
    if (prepared_.map_by == MapBy::Supervisor) {
      if (prepared_.becomes_owner) {
        open_sources_early();
        return become_owner(o);
      }
      // Groups such as docker or disk would still open host files by their group bits.
      // The raw call: the library's wrapper would signal threads that are not in this process.
      return sys::zero_or_errno(::syscall(SYS_setgroups, 0, nullptr));
    }
    if (const int error = write_proc("/proc/self/setgroups", "deny", 4); error < 0) return error;
    if (const int error =
            write_proc("/proc/self/uid_map", prepared_.uid_map.c_str(), prepared_.uid_map.size());
        error < 0) {
      return error;
    }
    return write_proc("/proc/self/gid_map", prepared_.gid_map.c_str(), prepared_.gid_map.size());
  }

  int operator()(const op::PrivateMounts&) const {
    return sys::zero_or_errno(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
  }

  int operator()(const op::NewRoot& o) const {
    const int tree = sys::new_tmpfs(o.bytes, 0, "0755");
    if (tree < 0) return tree;
    // Mounted over "/" it covers no source: lookups start below it until the pivot.
    int result = sys::attach_tree(tree, "/");
    if (result >= 0) result = sys::zero_or_errno(::fchdir(tree));
    ::close(tree);
    if (result < 0) return result;
    return write_file(kLandlockProbe + 1, "x", 0444);
  }

  int operator()(const op::MakeDirectory& o) const {
    if (::mkdir(relative(o.path), o.mode) < 0) return errno == EEXIST ? 0 : -errno;
    return 0;
  }

  int operator()(const op::MountPoint& o) const {
    const std::size_t slash = o.path.rfind('/');
    char directory[4096] = "";
    if (!append(directory, sizeof directory,
                slash == 0 ? "." : std::string_view(o.path).substr(1, slash - 1))) {
      return -ENAMETOOLONG;
    }
    // An absolute symlink left here would lead out into the host: the root is still its own.
    const int above = sys::openat2(AT_FDCWD, directory, O_PATH | O_DIRECTORY | O_CLOEXEC, 0,
                                   sys::kResolveNoSymlinks | sys::kResolveNoMagicLinks);
    if (above < 0) return above;
    const char* name = o.path.c_str() + slash + 1;
    const long made = o.kind == FileKind::Directory ? ::mkdirat(above, name, 0700)
                                                    : ::mknodat(above, name, S_IFREG | 0600, 0);
    const int result = made < 0 && errno != EEXIST ? -errno : 0;
    ::close(above);
    return result;
  }

  int operator()(const op::MakeFile& o) const {
    if (o.content.empty()) return make_empty(relative(o.path), o.mode);
    return write_file(relative(o.path), o.content, o.mode);
  }

  int operator()(const op::MakeSymlink& o) const {
    return sys::zero_or_errno(::symlink(o.target.c_str(), relative(o.path)));
  }

  int operator()(const op::BindSystem& o) const {
    return sys::zero_or_errno(
        ::mount(o.path.c_str(), relative(o.path), nullptr, MS_BIND | MS_REC, nullptr));
  }

  int operator()(const op::ReadOnlySoFar&) const { return sys::make_read_only_below("."); }

  int operator()(const op::Bind& o) const {
    const int early = prepared_.becomes_owner ? prepared_.early_sources[state_.next_source++] : -1;
    const int source = early >= 0 ? early : open_source(o);
    if (source < 0) return source;
    const int other = is_set(o.id) ? same_object(source, o.id) : 0;
    const int tree = other < 0 ? other : sys::open_tree_at(source);
    ::close(source);
    if (tree < 0) return tree;
    const int error = o.access == MountAccess::ReadOnly ? sys::restrict_tree_read_only(tree)
                                                        : sys::restrict_tree(tree);
    const int target = error < 0 ? error : open_target(o.path);
    if (target < 0) {
      ::close(tree);
      return target;
    }
    return attach_and_close(tree, target);
  }

  int operator()(const op::Hold& o) const {
    const int target = open_verified_target(o.path, o.id);
    if (target < 0) return target;
    int tree = sys::open_tree_at(target);
    if (tree >= 0) {
      const int error = o.access == MountAccess::ReadOnly ? sys::restrict_tree_read_only(tree)
                                                          : sys::restrict_tree(tree);
      if (error < 0) {
        ::close(tree);
        tree = error;
      }
    }
    return attach_and_close(tree, target);
  }

  int operator()(const op::PrivateCopy& o) const {
    const int early = prepared_.becomes_owner ? prepared_.early_sources[state_.next_source++] : -1;
    const int source = early >= 0 ? early : open_copy(o);
    if (source < 0) return source;
    int tree = sys::open_tree_at(source);
    ::close(source);
    if (tree < 0) return tree;
    int error = sys::restrict_tree(tree);
    const int target = error < 0 ? error : open_verified_target(o.path, o.id);
    if (target < 0) {
      ::close(tree);
      return target;
    }
    return attach_and_close(tree, target);
  }

  int operator()(const op::StagedTree& o) const {
    int sources[kStageSources];
    int error = 0;
    for (std::size_t i = 0; i < kStageSources; ++i) {
      const int early =
          prepared_.becomes_owner ? prepared_.early_sources[state_.next_source++] : -1;
      sources[i] = early >= 0 ? early : open_stage_source(o, i);
      if (sources[i] < 0 && error == 0) error = sources[i];
    }
    if (error == 0) error = same_object(sources[0], o.id);
    const bool copy = o.work.empty();
    int tree = error;
    if (error == 0) {
      tree = copy ? sys::open_tree_at(sources[1])
                  : sys::new_overlay(sources[0], o.steady.empty() ? -1 : sources[3], sources[1],
                                     sources[2]);
    }
    if (tree >= 0) {
      error = copy ? sys::restrict_tree(tree) : try_stage(tree, sources[1]);
      const int target = error < 0 ? error : open_target(o.path);
      tree = target < 0 ? close_and_answer(tree, target) : attach_and_close(tree, target);
    }
    for (const int source : sources) {
      if (source >= 0) ::close(source);
    }
    return tree;
  }

  int operator()(const op::ReadOnlyWay& o) const {
    const int target = open_target(o.path);
    if (target < 0) return target;
    int tree = sys::open_tree_at(target);
    if (tree >= 0) {
      // The grants below it are mounts of their own and keep their rights.
      if (const int error = sys::make_tree_top_read_only(tree); error < 0) {
        ::close(tree);
        tree = error;
      }
    }
    return attach_and_close(tree, target);
  }

  int operator()(const op::Mask& o) const {
    if (const int error = prepare_masks(state_); error < 0) return error;
    const int target = o.staged ? open_staged_target(o) : open_verified_target(o.path, o.id);
    if (target < 0) return target;
    int tree = sys::open_tree_path(o.kind == FileKind::Directory ? kMaskDirectory : kMaskFile);
    if (tree >= 0) {
      if (const int error = sys::restrict_tree_read_only(tree); error < 0) {
        ::close(tree);
        tree = error;
      }
    }
    return attach_and_close(tree, target);
  }

  int operator()(const op::Skeleton& o) const {
    const int target = is_set(o.id) ? open_verified_target(o.path, o.id) : open_target(o.path);
    if (target < 0) return target;
    const int tree = sys::new_tmpfs(kSkeletonBytes, o.entries.size() + kSkeletonInodes, "0755");
    int result = tree;
    for (const op::Skeleton::Entry& entry : o.entries) {
      if (result < 0) break;
      result = make_place(tree, entry);
    }
    if (result >= 0) result = sys::restrict_tree_read_only(tree);
    if (result >= 0) return attach_and_close(tree, target);
    if (tree >= 0) ::close(tree);
    ::close(target);
    return result;
  }

  int operator()(const op::MaskProc& o) const {
    if (const int error = prepare_masks(state_); error < 0) return error;
    const char* mask = o.kind == FileKind::Directory ? kMaskDirectory : kMaskFile;
    if (::mount(mask, relative(o.path), nullptr, MS_BIND, nullptr) < 0) {
      return errno == ENOENT ? 0 : -errno;  // this kernel does not have the entry
    }
    return 0;
  }

  int operator()(const op::Scratch& o) const {
    if (::mkdir(kScratch, 0700) < 0) return -errno;
    const int tree = sys::new_tmpfs(o.bytes, o.inodes, "0700");
    if (tree < 0) return tree;
    const int result = sys::attach_tree(tree, kScratch);
    ::close(tree);
    return result;
  }

  int operator()(const op::ScratchDirectory& o) const {
    char path[64] = ".scratch/";
    if (!append(path, sizeof path, o.name)) return -ENAMETOOLONG;
    if (::mkdir(path, o.mode) < 0) return -errno;
    return sys::zero_or_errno(::mount(path, relative(o.path), nullptr, MS_BIND, nullptr));
  }

  int operator()(const op::ScratchFile& o) const {
    char path[64] = ".scratch/";
    if (!append(path, sizeof path, o.name)) return -ENAMETOOLONG;
    char* slash = path;
    for (char* at = path; *at != '\0'; ++at) {
      if (*at == '/') slash = at;
    }
    *slash = '\0';
    if (::mkdir(path, 0700) < 0 && errno != EEXIST) return -errno;
    *slash = '/';
    return write_file(path, o.content, o.mode);
  }

  int operator()(const op::PrivateConfig& o) const {
    char link[64] = ".scratch/";
    if (!append(link, sizeof link, o.name)) return -ENAMETOOLONG;
    for (char* at = link + sizeof ".scratch"; *at != '\0'; ++at) {
      if (*at != '/') continue;
      *at = '\0';
      const int made = ::mkdir(link, 0700);
      *at = '/';
      if (made < 0 && errno != EEXIST) return -errno;
    }
    if (::mkdir(link, 0700) < 0 && errno != EEXIST) return -errno;
    if (!append(link, sizeof link, "/link")) return -ENAMETOOLONG;
    const int target = open_verified_target(o.path, o.id);
    if (target < 0) return target;
    if (::symlink(o.target.c_str(), link) < 0) {
      ::close(target);
      return -errno;
    }
    int tree = sys::open_tree_link(link);
    if (tree >= 0 && sys::attach_tree_at(tree, target) >= 0) {
      ::close(tree);
      ::close(target);
      return 0;
    }
    // A kernel that cannot mount a symlink: the file stays, read-only.
    if (tree >= 0) ::close(tree);
    tree = sys::open_tree_at(target);
    if (tree >= 0) {
      if (const int error = sys::restrict_tree_read_only(tree); error < 0) {
        ::close(tree);
        tree = error;
      }
    }
    return attach_and_close(tree, target);
  }

  int operator()(const op::MountProc&) const {
    constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;
    // Otherwise /proc/1/cmdline shows how Cordon itself was called. Older kernels know the option
    // by its number only.
    if (::mount("proc", "proc", "proc", kFlags, "hidepid=ptraceable") == 0) return 0;
    return sys::zero_or_errno(::mount("proc", "proc", "proc", kFlags, "hidepid=2"));
  }

  int operator()(const op::DeviceNode& o) const {
    return sys::zero_or_errno(::mount(o.path.c_str(), relative(o.path), nullptr, MS_BIND, nullptr));
  }

  int operator()(const op::MountDevpts&) const {
    return sys::zero_or_errno(::mount("devpts", "dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
                                      "newinstance,ptmxmode=0666,mode=0620"));
  }

  int operator()(const op::LoopbackUp&) const { return sys::bring_up_loopback(); }

  int operator()(const op::OfferSockets&) const {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return -errno;
    state_.socket_source = ends[0];
    state_.socket_taker = ends[1];
    return 0;
  }
  int operator()(const op::OpenResolver&) const {
    state_.resolver_datagrams = sys::open_loopback_socket(SOCK_DGRAM, kResolverPort);
    if (state_.resolver_datagrams < 0) return state_.resolver_datagrams;
    state_.resolver_streams = sys::open_loopback_socket(SOCK_STREAM, kResolverPort);
    return state_.resolver_streams < 0 ? state_.resolver_streams : 0;
  }

  int operator()(const op::HostName& o) const {
    return sys::set_hostname(o.name.c_str(), o.name.size());
  }

  int operator()(const op::PivotRoot&) const {
    if (const int error = remove_building_names(state_); error < 0) return error;
    return sys::pivot_here();
  }

  int operator()(const op::LandlockAllow& o) const {
    if (state_.ruleset < 0) {
      state_.abi = sys::landlock_abi();
      state_.ruleset = sys::landlock_create_ruleset(sys::landlock::file_rights(state_.abi),
                                                    sys::landlock::scopes(state_.abi),
                                                    prepared_.refuse_tcp ? kTcpRights : 0);
      if (state_.ruleset < 0) return state_.ruleset;
    }
    const int path = open_granted(o);
    if (path < 0) return o.optional && path == -ENOENT ? 0 : path;
    std::uint64_t rights = rights_of(o.use, state_.abi);
    if (o.kind != FileKind::Directory) rights &= sys::landlock::kFileRights;
    const int result = sys::landlock_add_path(state_.ruleset, path, rights);
    ::close(path);
    return result;
  }

  int operator()(const op::ScopeProcesses&) const {
    if (const int error = scope_processes(); error < 0) return error;
    // Inside paths are the host's own here.
    return sys::zero_or_errno(::chdir("/"));
  }

  int operator()(const op::ReadOnlyRoot&) const {
    if (::unlink(kLandlockProbe) < 0) return -errno;
    return sys::make_read_only("/");
  }

  // Everything else belongs to the command's own process.
  template <typename Other>
  int operator()(const Other&) const {
    return -ENOTSUP;
  }

 private:
  // While this process is still the caller, who may pass through directories that the owner may
  // not. What it cannot open is opened by the owner when its turn comes.
  void open_sources_early() const {
    std::size_t next = 0;
    for (const Op& operation : prepared_.plan->build) {
      const auto* bind = std::get_if<op::Bind>(&operation);
      const auto* copy = std::get_if<op::PrivateCopy>(&operation);
      if (bind != nullptr) prepared_.early_sources[next++] = open_source(*bind);
      if (copy != nullptr) prepared_.early_sources[next++] = open_copy(*copy);
      const auto* stage = std::get_if<op::StagedTree>(&operation);
      for (std::size_t i = 0; stage != nullptr && i < kStageSources; ++i) {
        prepared_.early_sources[next++] = open_stage_source(*stage, i);
      }
    }
  }

  // The capabilities stay: they belong to this namespace, and none of its ids is root. A change of
  // identity takes the right to look at /proc/self away, which is given back here; another process
  // of the owner still has no power over this namespace, which is the caller's.
  static int become_owner(const op::MapIdentity& o) {
    if (const int error = sys::become(o.inside_uid, o.inside_gid); error < 0) return error;
    return sys::zero_or_errno(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
  }

  static bool append(char* buffer, std::size_t size, std::string_view text) {
    std::size_t used = 0;
    while (buffer[used] != '\0') ++used;
    if (used + text.size() + 1 > size) return false;
    for (const char c : text) buffer[used++] = c;
    buffer[used] = '\0';
    return true;
  }

  const Prepared& prepared_;
  BuildState& state_;
};

}  // namespace

sys::CloneResult clone_sandbox(const op::EnterNamespaces& o, int cgroup) {
  std::uint64_t flags =
      CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
  if (o.own_network) flags |= CLONE_NEWNET;
  return sys::clone_process(flags, cgroup);
}

std::unique_ptr<Forerunner> send_ahead() {
  // To be born in a v2 group takes the right to write in the group above it and the caller's own.
  // In groups of somebody else root has it by its capabilities, and a process in a user namespace
  // of its own has none there.
  sys::MountStatus groups{};
  const bool version2 =
      sys::mount_status("/sys/fs/cgroup", groups) == 0 && groups.type == kCgroup2Magic;
  if (version2 && ::geteuid() == 0) return nullptr;
  return Forerunner::send();
}

int remove_building_names(const BuildState& state) {
  if (state.masks_ready) {
    if (const int error = remove_mask_names(); error < 0) return error;
  }
  if (::umount2(kScratch, MNT_DETACH) == 0) ::rmdir(kScratch);
  return 0;
}

int carry_out(const Op& operation, const Prepared& prepared, BuildState& state) {
  return std::visit(CarryOut(prepared, state), operation);
}

}  // namespace cordon::native
