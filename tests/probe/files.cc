// Attempts on files, directories and descriptors.
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "probe.h"

namespace probe {
namespace {

Verdict read_descriptor(int fd) {
  if (fd < 0) return refused();
  char buffer[2048];
  const ssize_t got = read(fd, buffer, sizeof buffer);
  const int error = errno;
  close(fd);
  errno = error;
  if (got < 0) return refused();
  return done(std::string(buffer, static_cast<std::size_t>(got)));
}

Verdict write_descriptor(int fd) {
  if (fd < 0) return refused();
  const ssize_t put = write(fd, "probe\n", 6);
  const int error = errno;
  close(fd);
  errno = error;
  return by_result(put);
}

// For paths of /proc that answer EINVAL or nothing to a lone write, opening is the attempt.
Verdict open_only(const Arguments& a, int flags) {
  const int fd = open(a[0].c_str(), flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644);
  if (fd < 0) return refused();
  close(fd);
  return done();
}

Verdict write_file(const Arguments& a) {
  return write_descriptor(open(a[0].c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
}
Verdict append_file(const Arguments& a) {
  return write_descriptor(open(a[0].c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
}
Verdict creat_file(const Arguments& a) { return write_descriptor(creat(a[0].c_str(), 0644)); }
Verdict open_write(const Arguments& a) { return open_only(a, O_WRONLY); }
Verdict open_read(const Arguments& a) { return open_only(a, O_RDONLY); }
Verdict read_file(const Arguments& a) {
  return read_descriptor(open(a[0].c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

int openat2_fd(const std::string& path, std::uint64_t flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  if ((flags & O_CREAT) != 0) how.mode = 0644;
  return static_cast<int>(syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how));
}
Verdict openat2_read(const Arguments& a) { return read_descriptor(openat2_fd(a[0], O_RDONLY)); }
Verdict openat2_write(const Arguments& a) {
  return write_descriptor(openat2_fd(a[0], O_WRONLY | O_CREAT));
}

Verdict open_path_reopen(const Arguments& a) {
  const int handle = open(a[0].c_str(), O_PATH | O_CLOEXEC);
  if (handle < 0) return refused("O_PATH");
  return read_descriptor(
      open(("/proc/self/fd/" + std::to_string(handle)).c_str(), O_RDONLY | O_CLOEXEC));
}

// The handle is taken from a path that can be seen, then opened without walking any path.
Verdict open_by_handle(const Arguments& a) {
  std::vector<unsigned char> space(sizeof(file_handle) + MAX_HANDLE_SZ, 0);
  auto* handle = reinterpret_cast<file_handle*>(space.data());
  handle->handle_bytes = MAX_HANDLE_SZ;
  int mount_id = 0;
  if (name_to_handle_at(AT_FDCWD, a[0].c_str(), handle, &mount_id, 0) < 0) {
    return refused("name_to_handle_at");
  }
  const int mount = open(a[0].c_str(), O_RDONLY | O_CLOEXEC);
  if (mount < 0) return refused("mount");
  return read_descriptor(open_by_handle_at(mount, handle, O_RDONLY | O_CLOEXEC));
}

// The root inode of most filesystems has number 2 and needs no lookup: the handle is made up.
Verdict open_root_by_handle(const Arguments& a) {
  std::vector<unsigned char> space(sizeof(file_handle) + 8, 0);
  auto* handle = reinterpret_cast<file_handle*>(space.data());
  handle->handle_bytes = 8;
  handle->handle_type = 1;
  handle->f_handle[0] = 2;
  const int mount = open(a[0].c_str(), O_RDONLY | O_CLOEXEC);
  if (mount < 0) return refused("mount");
  return by_result(open_by_handle_at(mount, handle, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

Verdict list_directory(const Arguments& a) {
  DIR* directory = opendir(a[0].c_str());
  if (directory == nullptr) return refused();
  std::vector<std::string> names;
  while (const dirent* entry = readdir(directory)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  closedir(directory);
  std::sort(names.begin(), names.end());
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : " ") + name;
  return done(joined);
}

Verdict stat_path(const Arguments& a) {
  struct stat status {};
  if (lstat(a[0].c_str(), &status) < 0) return refused();
  char mode[16];
  std::snprintf(mode, sizeof mode, "%o", status.st_mode);
  return done("mode=" + std::string(mode) + " uid=" + std::to_string(status.st_uid) + " size=" +
              std::to_string(status.st_size) + " nlink=" + std::to_string(status.st_nlink) +
              " dev=" + std::to_string(status.st_dev) + " ino=" + std::to_string(status.st_ino));
}

Verdict read_link(const Arguments& a) {
  char target[4096];
  const ssize_t size = readlink(a[0].c_str(), target, sizeof target);
  if (size < 0) return refused();
  return done(std::string(target, static_cast<std::size_t>(size)));
}

Verdict unlink_path(const Arguments& a) { return by_result(unlink(a[0].c_str())); }
Verdict rmdir_path(const Arguments& a) { return by_result(rmdir(a[0].c_str())); }
Verdict rename_path(const Arguments& a) { return by_result(rename(a[0].c_str(), a[1].c_str())); }
Verdict exchange_paths(const Arguments& a) {
  return by_result(renameat2(AT_FDCWD, a[0].c_str(), AT_FDCWD, a[1].c_str(), RENAME_EXCHANGE));
}
Verdict link_path(const Arguments& a) { return by_result(link(a[0].c_str(), a[1].c_str())); }
Verdict symlink_path(const Arguments& a) { return by_result(symlink(a[0].c_str(), a[1].c_str())); }
Verdict truncate_path(const Arguments& a) { return by_result(truncate(a[0].c_str(), 0)); }
Verdict chmod_path(const Arguments& a) {
  const long mode = a.size() > 1 ? number(a[1]) : 0777;
  return by_result(chmod(a[0].c_str(), static_cast<mode_t>(mode)));
}
Verdict chown_path(const Arguments& a) {
  return by_result(chown(a[0].c_str(), geteuid(), getegid()));
}
Verdict utimes_path(const Arguments& a) {
  const timespec times[2] = {{1, 0}, {1, 0}};
  return by_result(utimensat(AT_FDCWD, a[0].c_str(), times, 0));
}
Verdict setxattr_path(const Arguments& a) {
  const std::string name = a.size() > 1 ? a[1] : "user.probe";
  return by_result(setxattr(a[0].c_str(), name.c_str(), "1", 1, 0));
}
// A version 2 file capability with nothing in it: permitted to whoever holds CAP_SETFCAP.
Verdict set_file_capability(const Arguments& a) {
  const unsigned char value[20] = {0, 0, 0, 2, 0, 4};
  return by_result(setxattr(a[0].c_str(), "security.capability", value, sizeof value, 0));
}
Verdict mkdir_path(const Arguments& a) { return by_result(mkdir(a[0].c_str(), 0755)); }
Verdict mkfifo_path(const Arguments& a) { return by_result(mkfifo(a[0].c_str(), 0666)); }
Verdict mknod_socket(const Arguments& a) {
  return by_result(mknod(a[0].c_str(), S_IFSOCK | 0666, 0));
}
Verdict mknod_device(const Arguments& a) {
  return by_result(mknod(a[0].c_str(), S_IFCHR | 0666, makedev(1, 3)));
}
Verdict mknod_block(const Arguments& a) {
  return by_result(mknod(a[0].c_str(), S_IFBLK | 0600, makedev(254, 0)));
}

// A nameless file is written first and given its name last.
Verdict tmpfile_link(const Arguments& a) {
  const int fd = open(a[0].c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
  if (fd < 0) return refused("O_TMPFILE");
  if (write(fd, "probe\n", 6) != 6) return refused("write");
  return by_result(linkat(AT_FDCWD, ("/proc/self/fd/" + std::to_string(fd)).c_str(), AT_FDCWD,
                          a[1].c_str(), AT_SYMLINK_FOLLOW));
}

Verdict execute(const Arguments& a) {
  int report[2];
  if (pipe2(report, O_CLOEXEC) < 0) return refused("pipe");
  const pid_t child = fork();
  if (child == 0) {
    std::vector<char*> words;
    Arguments copy = a;
    for (std::string& word : copy) words.push_back(word.data());
    words.push_back(nullptr);
    dup2(STDERR_FILENO, STDOUT_FILENO);  // the standard output is for verdicts
    execv(words[0], words.data());
    const int error = errno;
    if (write(report[1], &error, sizeof error) < 0) _exit(99);
    _exit(98);
  }
  close(report[1]);
  if (child < 0) return refused("fork");
  int error = 0;
  const bool failed = read(report[0], &error, sizeof error) == sizeof error;
  int status = 0;
  waitpid(child, &status, 0);
  if (failed) return {false, error, "exec"};
  if (WIFSIGNALED(status)) {
    return {false, 0, std::string("killed by SIG") + sigabbrev_np(WTERMSIG(status))};
  }
  return done("exit " + std::to_string(WEXITSTATUS(status)));
}

Verdict open_descriptors(const Arguments&) {
  std::string found;
  for (int fd = 0; fd < 4096; ++fd) {
    if (fcntl(fd, F_GETFD) < 0) continue;
    char target[512];
    const ssize_t size =
        readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target);
    found += (found.empty() ? "" : " ") + std::to_string(fd) + "=" +
             (size < 0 ? "?" : std::string(target, static_cast<std::size_t>(size)));
  }
  return done(found);
}

Verdict truncate_stdout(const Arguments&) { return by_result(ftruncate(STDOUT_FILENO, 0)); }
Verdict seek_stdout(const Arguments&) { return by_result(lseek(STDOUT_FILENO, 0, SEEK_SET)); }
Verdict truncate_stderr(const Arguments&) { return by_result(ftruncate(STDERR_FILENO, 0)); }
Verdict reopen_stdout(const Arguments&) {
  return by_result(open("/proc/self/fd/1", O_WRONLY | O_TRUNC | O_CLOEXEC));
}

Verdict current_directory(const Arguments&) {
  char path[4096];
  if (getcwd(path, sizeof path) == nullptr) return refused();
  return done(path);
}

// Writes back what a control file already says, so that success changes nothing.
Verdict rewrite_same(const Arguments& a) {
  const std::string value = read_whole(a[0]);
  const int fd = open(a[0].c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return refused("open");
  return by_result(write(fd, value.data(), value.size()), value);
}

// One process flips DIR/flip between DIR/inside and SECRETS; this one reads DIR/flip/secret.
// Succeeds if any read returned bytes that begin with the word SECRET.
Verdict race_symlink(const Arguments& a) {
  const std::string inside = a[0] + "/inside";
  const std::string flip = a[0] + "/flip";
  const pid_t flipper = fork();
  if (flipper < 0) return refused("fork");
  if (flipper == 0) {
    alarm(15);
    const std::string spare = a[0] + "/spare";
    // One that was killed half way through an earlier race left it, and no link can be made over
    // it.
    unlink(spare.c_str());
    for (bool out = false;; out = !out) {
      if (symlink((out ? a[1] : inside).c_str(), spare.c_str()) == 0) {
        rename(spare.c_str(), flip.c_str());
      }
    }
  }
  long escapes = 0;
  long good = 0;
  const std::string target = flip + "/secret";
  const long rounds = number(a[2]);
  for (long i = 0; i < rounds; ++i) {
    const Verdict verdict = read_file({target});
    if (verdict.ok && verdict.detail.starts_with("SECRET")) ++escapes;
    if (verdict.ok && verdict.detail.starts_with("inside")) ++good;
  }
  kill(flipper, SIGKILL);
  waitpid(flipper, nullptr, 0);
  return {escapes > 0, 0, "escapes=" + std::to_string(escapes) + " good=" + std::to_string(good)};
}

constexpr Attempt kAttempts[] = {
    {"write", "PATH", 1, write_file},
    {"append", "PATH", 1, append_file},
    {"creat", "PATH", 1, creat_file},
    {"open-write", "PATH", 1, open_write},
    {"open-read", "PATH", 1, open_read},
    {"read", "PATH", 1, read_file},
    {"openat2-read", "PATH", 1, openat2_read},
    {"openat2-write", "PATH", 1, openat2_write},
    {"open-path-reopen", "PATH", 1, open_path_reopen},
    {"open-by-handle", "PATH", 1, open_by_handle},
    {"open-root-by-handle", "PATH", 1, open_root_by_handle},
    {"list", "DIR", 1, list_directory},
    {"stat", "PATH", 1, stat_path},
    {"readlink", "PATH", 1, read_link},
    {"unlink", "PATH", 1, unlink_path},
    {"rmdir", "PATH", 1, rmdir_path},
    {"rename", "FROM TO", 2, rename_path},
    {"exchange", "A B", 2, exchange_paths},
    {"link", "FROM TO", 2, link_path},
    {"symlink", "TARGET PATH", 2, symlink_path},
    {"truncate", "PATH", 1, truncate_path},
    {"chmod", "PATH [MODE]", 1, chmod_path},
    {"chown", "PATH", 1, chown_path},
    {"utimes", "PATH", 1, utimes_path},
    {"setxattr", "PATH [NAME]", 1, setxattr_path},
    {"file-capability", "PATH", 1, set_file_capability},
    {"mkdir", "PATH", 1, mkdir_path},
    {"mkfifo", "PATH", 1, mkfifo_path},
    {"mknod-socket", "PATH", 1, mknod_socket},
    {"mknod-dev", "PATH", 1, mknod_device},
    {"mknod-block", "PATH", 1, mknod_block},
    {"tmpfile-link", "DIR PATH", 2, tmpfile_link},
    {"exec", "PATH [ARG]...", 1, execute},
    {"fds", "", 0, open_descriptors},
    {"stdout-truncate", "", 0, truncate_stdout},
    {"stdout-seek", "", 0, seek_stdout},
    {"stdout-reopen", "", 0, reopen_stdout},
    {"stderr-truncate", "", 0, truncate_stderr},
    {"cwd", "", 0, current_directory},
    {"proc-sys-write", "PATH", 1, rewrite_same},
    {"race-symlink", "DIR SECRETS N", 3, race_symlink},
};

}  // namespace

std::span<const Attempt> file_attempts() { return kAttempts; }

}  // namespace probe
