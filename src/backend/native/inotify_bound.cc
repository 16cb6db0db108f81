#include "backend/native/inotify_bound.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>

namespace cordon::native {
namespace {

// The number in a file of /proc/sys; negative: -errno.
std::int64_t read_number(const char* path) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  std::array<char, 32> text{};
  const ssize_t got = ::read(fd, text.data(), text.size());
  const int error = errno;
  ::close(fd);
  if (got < 0) return -error;
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + got, number);
  return parsed.ec == std::errc{} && number >= 0 ? number : -EINVAL;
}

int write_number(const char* path, std::int64_t number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return -errno;
  const ssize_t written = ::write(fd, text.data(), static_cast<std::size_t>(end - text.data()));
  const int error = errno;
  ::close(fd);
  return written < 0 ? -error : 0;
}

// The file of the user's own bound, and that of this namespace.
int halve(const char* of_user, const char* of_namespace) {
  const std::int64_t bound = read_number(of_user);
  if (bound < 0) return static_cast<int>(bound);
  return write_number(of_namespace, bound > 1 ? bound / 2 : bound);
}

}  // namespace

int bound_inotify() {
  if (const int error =
          halve("/proc/sys/fs/inotify/max_user_instances", "/proc/sys/user/max_inotify_instances");
      error < 0) {
    return error;
  }
  return halve("/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches");
}

}  // namespace cordon::native
