#include "mcp/inside/whole_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/path.h"

namespace cordon::mcp {
namespace {

constexpr int kPlain = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

Version version_from(const struct stat& status) {
  constexpr std::int64_t kBillion = 1'000'000'000;
  return {status.st_ino, static_cast<std::uint64_t>(status.st_size),
          status.st_ctim.tv_sec * kBillion + status.st_ctim.tv_nsec};
}

int kind_fault(const struct stat& status) {
  if (S_ISDIR(status.st_mode)) return EISDIR;
  return S_ISREG(status.st_mode) ? 0 : EINVAL;
}

}  // namespace

Or<std::string> read_bytes(int descriptor, std::size_t limit) {
  std::string bytes;
  constexpr std::size_t kBlock = std::size_t{256} << 10U;
  while (bytes.size() < limit) {
    const std::size_t have = bytes.size();
    bytes.resize(have + std::min(kBlock, limit - have));
    const ssize_t got = ::read(descriptor, bytes.data() + have, bytes.size() - have);
    const int failed = errno;
    bytes.resize(have + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && failed == EINTR) continue;
    if (got < 0) return tl::make_unexpected(failed);
    if (got == 0) break;
  }
  return bytes;
}

int write_bytes(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
  return 0;
}

Or<WholeFile> read_whole(const std::string& path, std::size_t limit) {
  const Fd file(::open(path.c_str(), kPlain));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) < 0) return tl::make_unexpected(errno);
  if (const int fault = kind_fault(status)) return tl::make_unexpected(fault);
  auto content = read_bytes(file.get(), limit);
  if (!content) return tl::make_unexpected(content.error());
  return WholeFile{std::move(*content), version_from(status)};
}

Or<Version> version_of(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) < 0) return tl::make_unexpected(errno);
  if (const int fault = kind_fault(status)) return tl::make_unexpected(fault);
  return version_from(status);
}

Or<Fd> lock_for_change(const std::string& path) {
  const std::string directory(parent(path));
  Fd held(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!held.valid()) held = Fd(::open(path.c_str(), kPlain));
  if (!held.valid()) return tl::make_unexpected(errno);
  constexpr int kAttempts = 100;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (::flock(held.get(), LOCK_EX | LOCK_NB) == 0) return held;
    if (errno != EWOULDBLOCK && errno != EINTR) return tl::make_unexpected(errno);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return tl::make_unexpected(EAGAIN);
}

}  // namespace cordon::mcp
