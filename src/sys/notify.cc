#include "sys/notify.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/kcmp.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <string_view>

#include "sys/answer.h"

namespace cordon::sys {
namespace {

// Newer than the headers of the distributions that build this.
constexpr unsigned long kSetFlags = SECCOMP_IOW(4, std::uint64_t);
constexpr std::uint64_t kSynchronousWakeUp = 1;
constexpr unsigned kSend = 1U << 1;           // SECCOMP_ADDFD_FLAG_SEND
constexpr unsigned kThread = O_EXCL;          // PIDFD_THREAD
constexpr int kNetworkCookie = 71;            // SO_NETNS_COOKIE
constexpr unsigned long kBoundFile = 0x89e0;  // SIOCUNIXFILE

// The process that a thread belongs to, or -errno.
pid_t group_of(pid_t thread) {
  char path[32] = "/proc/";
  char* end = std::to_chars(path + 6, path + 24, thread).ptr;
  for (const char letter : std::string_view("/status")) *end++ = letter;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  char text[4096];
  const ssize_t got = ::read(fd, text, sizeof text);
  ::close(fd);
  if (got < 0) return -EIO;
  const std::string_view status(text, static_cast<std::size_t>(got));
  constexpr std::string_view kKey = "\nTgid:\t";
  const std::size_t at = status.find(kKey);
  pid_t group = -EIO;
  if (at != std::string_view::npos) {
    const char* number = status.data() + at + kKey.size();
    std::from_chars(number, status.data() + status.size(), group);
  }
  return group;
}

}  // namespace

int install_filter_with_listener(const void* program, unsigned short length) {
  sock_fprog filter{};
  filter.len = length;
  filter.filter = const_cast<sock_filter*>(static_cast<const sock_filter*>(program));
  constexpr unsigned long kFlags =
      SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
  return value_or_errno(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, &filter));
}

bool can_answer_calls() {
  constexpr unsigned long kFlags =
      SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
  // The flags are judged before the program is read.
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, nullptr) < 0 && errno == EFAULT;
}

bool is_listener(int fd) {
  std::uint64_t nobody = 0;
  return ::ioctl(fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &nobody) < 0 && errno == ENOENT;
}

void wake_synchronously(int listener) { (void)::ioctl(listener, kSetFlags, kSynchronousWakeUp); }

int receive_notification(int listener, Notification& notification) {
  seccomp_notif received{};
  if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &received) < 0) return -errno;
  notification.id = received.id;
  notification.thread = static_cast<pid_t>(received.pid);
  notification.call = received.data.nr;
  std::copy(std::begin(received.data.args), std::end(received.data.args), notification.arguments);
  return 0;
}

bool is_waiting(int listener, std::uint64_t id) {
  return ::ioctl(listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

int answer_notification(int listener, std::uint64_t id, int error) {
  seccomp_notif_resp response{};
  response.id = id;
  response.error = -error;
  return value_or_errno(::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response));
}

int answer_with_value(int listener, std::uint64_t id, std::int64_t value) {
  seccomp_notif_resp response{};
  response.id = id;
  response.val = value;
  return value_or_errno(::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response));
}

int let_continue(int listener, std::uint64_t id) {
  seccomp_notif_resp response{};
  response.id = id;
  response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  return value_or_errno(::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response));
}

int put_descriptor(int listener, std::uint64_t id, int source, int target, CloseOnExec close) {
  seccomp_notif_addfd request{};
  request.id = id;
  request.flags = SECCOMP_ADDFD_FLAG_SETFD;
  request.srcfd = static_cast<unsigned>(source);
  request.newfd = static_cast<unsigned>(target);
  request.newfd_flags = close == CloseOnExec::Yes ? O_CLOEXEC : 0;
  return value_or_errno(::ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &request));
}

int answer_with_descriptor(int listener, std::uint64_t id, int source, CloseOnExec close) {
  seccomp_notif_addfd request{};
  request.id = id;
  request.flags = kSend;
  request.srcfd = static_cast<unsigned>(source);
  request.newfd_flags = close == CloseOnExec::Yes ? O_CLOEXEC : 0;
  return value_or_errno(::ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &request));
}

int open_thread(pid_t thread) {
  const int pidfd = value_or_errno(::syscall(SYS_pidfd_open, thread, kThread));
  return pidfd == -EINVAL ? open_thread_by_group(thread) : pidfd;
}

int open_thread_by_group(pid_t thread) {
  const pid_t group = group_of(thread);
  if (group < 0) return group;
  const int pidfd = value_or_errno(::syscall(SYS_pidfd_open, group, 0U));
  if (pidfd < 0 || group == thread) return pidfd;
  if (::syscall(SYS_kcmp, thread, group, KCMP_FILES, 0UL, 0UL) == 0) return pidfd;
  ::close(pidfd);
  return -EPERM;
}

int copy_descriptor(int pidfd, int fd) {
  return value_or_errno(::syscall(SYS_pidfd_getfd, pidfd, fd, 0U));
}

int open_memory(pid_t thread) {
  char path[32] = "/proc/";
  char* end = std::to_chars(path + 6, path + 24, thread).ptr;
  for (const char letter : std::string_view("/mem")) *end++ = letter;
  return value_or_errno(::open(path, O_WRONLY | O_CLOEXEC));
}

ssize_t read_memory(pid_t thread, std::uint64_t address, void* into, std::size_t size) {
  const iovec local{into, size};
  // process_vm_readv(2) takes the address in the other process as a pointer; it is not followed
  // here.
  const iovec remote{reinterpret_cast<void*>(address), size};  // NOLINT(performance-no-int-to-ptr)
  const ssize_t got = ::process_vm_readv(thread, &local, 1, &remote, 1, 0);
  return got < 0 ? -errno : got;
}

int open_bound_file(int socket) { return value_or_errno(::ioctl(socket, kBoundFile)); }

std::optional<std::uint64_t> network_of(int socket) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  if (::getsockopt(socket, SOL_SOCKET, kNetworkCookie, &cookie, &size) < 0) return std::nullopt;
  return cookie;
}

}  // namespace cordon::sys
