#include "sandbox/native/process_status.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/fd.h"
#include "sys/calls.h"
#include "sys/raw_call.h"

namespace cordon::native {
namespace {

constexpr std::uint64_t kUnknownCapabilities = ~0ULL;

std::uint64_t hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<std::uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value * 16 + static_cast<std::uint64_t>(c - 'a') + 10;
    } else {
      return kUnknownCapabilities;
    }
  }
  return text.empty() ? kUnknownCapabilities : value;
}

std::int32_t number(std::string_view text) {
  std::int32_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return text.empty() ? -1 : value;
}

}  // namespace

void parse_status(std::string_view status, Measured& measured) {
  measured.capabilities.fill(kUnknownCapabilities);
  measured.no_new_privileges = -1;
  measured.seccomp_mode = -1;
  measured.seccomp_filters = -1;
  constexpr std::string_view kCapabilityNames[] = {"CapInh", "CapPrm", "CapEff", "CapBnd",
                                                   "CapAmb"};
  while (!status.empty()) {
    const std::size_t end = status.find('\n');
    const std::string_view line = status.substr(0, end);
    status.remove_prefix(end == std::string_view::npos ? status.size() : end + 1);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, colon);
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == '\t' || value.front() == ' ')) {
      value.remove_prefix(1);
    }
    for (std::size_t i = 0; i < std::size(kCapabilityNames); ++i) {
      if (name == kCapabilityNames[i]) measured.capabilities[i] = hexadecimal(value);
    }
    if (name == "NoNewPrivs") measured.no_new_privileges = number(value);
    if (name == "Seccomp") measured.seccomp_mode = number(value);
    if (name == "Seccomp_filters") measured.seccomp_filters = number(value);
  }
}

void measure_process(pid_t pid, Measured& measured) {
  parse_status({}, measured);
  char path[32] = "/proc/";
  char* at = path + 6;
  char digits[12];
  std::size_t count = 0;
  for (auto rest = static_cast<unsigned>(pid); rest != 0; rest /= 10) {
    digits[count++] = static_cast<char>('0' + rest % 10);
  }
  while (count > 0) *at++ = digits[--count];
  for (const char* tail = "/status"; *tail != '\0'; ++tail) *at++ = *tail;
  *at = '\0';
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char buffer[4096];
  std::size_t size = 0;
  for (;;) {
    const ssize_t got = ::read(fd, buffer + size, sizeof buffer - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
    if (size == sizeof buffer) break;
  }
  ::close(fd);
  parse_status({buffer, size}, measured);
}

mode_t own_umask() {
  constexpr mode_t kStrictest = 077;
  constexpr std::string_view kName = "Umask:\t";
  std::array<char, 512> buffer{};  // it is the second line
  const Fd status(::open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC));
  const ssize_t got = ::read(status.get(), buffer.data(), buffer.size());
  const std::string_view text(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  const std::size_t line = text.find(kName);
  if (line == std::string_view::npos) return kStrictest;
  mode_t mask = 0;
  std::size_t at = line + kName.size();
  for (; at < text.size() && text[at] >= '0' && text[at] <= '7'; ++at) {
    mask = mask * 8 + static_cast<mode_t>(text[at] - '0');
  }
  return at < text.size() && text[at] == '\n' ? mask : kStrictest;
}

std::uint64_t count_tasks() {
  const int directory = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return 0;
  std::uint64_t tasks = 0;
  alignas(8) char buffer[8192];
  for (;;) {
    const long got = ::syscall(SYS_getdents64, directory, buffer, sizeof buffer);
    if (got <= 0) break;
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const dirent64*>(buffer + at);
      at += entry->d_reclen;
      if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
      char path[32];
      std::size_t length = 0;
      while (entry->d_name[length] != '\0' && length < 12) {
        path[length] = entry->d_name[length];
        ++length;
      }
      for (const char* tail = "/task"; *tail != '\0'; ++tail) path[length++] = *tail;
      path[length] = '\0';
      struct stat status {};
      // A task directory has one link per thread beside its own two.
      if (::fstatat(directory, path, &status, 0) == 0 && status.st_nlink > 2) {
        tasks += status.st_nlink - 2;
      }
    }
  }
  ::close(directory);
  return tasks;
}

NamespaceIds own_namespaces() {
  constexpr const char* kNames[] = {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"};
  NamespaceIds found{};
  const long directory =
      sys::raw_call(SYS_openat, AT_FDCWD, "/proc/thread-self/ns", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return found;
  for (std::size_t i = 0; i < found.size(); ++i) {
    // "user:[4026531837]". To look at the file itself would have the kernel make an inode for it.
    char text[64];
    const long size = sys::raw_call(SYS_readlinkat, directory, kNames[i], text, sizeof text);
    for (long at = 0; at < size; ++at)
      if (text[at] >= '0' && text[at] <= '9')
        found[i] = found[i] * 10 + static_cast<std::uint64_t>(text[at] - '0');
  }
  sys::raw_call(SYS_close, directory);
  return found;
}

}  // namespace cordon::native
