#include "egress/waiting_call.h"

#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace cordon {
namespace {

std::string entry_of(const WaitingCall& call, const char* name) {
  return "/proc/" + std::to_string(call.thread()) + "/" + name;
}

int open_entry(const WaitingCall& call, const char* name, Fd& into) {
  into = Fd(::open(entry_of(call, name).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!into.valid()) return EACCES;
  return call.waiting() ? 0 : ESRCH;
}

}  // namespace

int open_root_of(const WaitingCall& call, Fd& root) { return open_entry(call, "root", root); }

int open_directory_of(const WaitingCall& call, Fd& directory) {
  return open_entry(call, "cwd", directory);
}

int read_directory_of(const WaitingCall& call, std::string& directory) {
  std::array<char, PATH_MAX> path;
  const ssize_t size = ::readlink(entry_of(call, "cwd").c_str(), path.data(), path.size());
  if (size <= 0 || static_cast<std::size_t>(size) == path.size()) return EACCES;
  directory.assign(path.data(), static_cast<std::size_t>(size));
  return call.waiting() ? 0 : ESRCH;
}

std::string name_of_descriptor(int descriptor) {
  std::array<char, PATH_MAX> path;
  const std::string entry = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = ::readlink(entry.c_str(), path.data(), path.size());
  if (size <= 0 || static_cast<std::size_t>(size) == path.size()) return {};
  return {path.data(), static_cast<std::size_t>(size)};
}

int read_name_of(WaitingCall& call, int directory, std::size_t index, std::string& name) {
  name.clear();
  if (const int error = call.read_path(index, name); error != 0) return error;
  if (name.empty()) return ENOENT;
  if (name.front() == '/') return 0;
  std::string base;
  if (directory == AT_FDCWD) {
    if (const int error = read_directory_of(call, base); error != 0) return error;
  } else {
    Fd opened;
    if (const int error = call.read_descriptor(directory, opened); error != 0) return error;
    base = name_of_descriptor(opened.get());
  }
  // A directory that was removed, or something that is none.
  if (base.empty() || base.front() != '/') return ENOENT;
  name = base + "/" + name;
  return 0;
}

int read_mask_of(const WaitingCall& call, std::uint32_t& mask) {
  const Fd file(::open(entry_of(call, "status").c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text;  // it stands in the second line
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  if (size <= 0) return EACCES;
  const std::string_view status(text.data(), static_cast<std::size_t>(size));
  constexpr std::string_view kKey = "\nUmask:\t";
  const std::size_t at = status.find(kKey);
  if (at == std::string_view::npos) return EACCES;
  const char* number = status.data() + at + kKey.size();
  const auto read = std::from_chars(number, status.data() + status.size(), mask, 8);
  if (read.ec != std::errc{}) return EACCES;
  return call.waiting() ? 0 : ESRCH;
}

namespace {

constexpr std::size_t kMostWatches = 4;
constexpr std::size_t kSmallestPage = 4096;

int read_option(int socket, int name, int& value) {
  socklen_t size = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, name, &value, &size) < 0 ? errno : 0;
}

std::string read_file(const std::string& path) {
  std::string text;
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

// The number behind `key` and its blanks in a line of fdinfo.
template <typename T>
std::optional<T> value_of(std::string_view line, std::string_view key, int base) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + key.size());
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  T value{};
  const auto read = std::from_chars(line.data(), line.data() + line.size(), value, base);
  if (read.ec != std::errc{}) return std::nullopt;
  return value;
}

// One line of an epoll's fdinfo: "tfd: 5 events: 2019 data: 5 pos:0 ino:a3f sdev:9".
std::optional<SocketUses::Watch> read_watch(std::string_view line, std::uint64_t inode) {
  if (value_of<std::uint64_t>(line, "ino:", 16) != inode) return std::nullopt;
  const auto fd = value_of<int>(line, "tfd:", 10);
  const auto events = value_of<std::uint32_t>(line, "events:", 16);
  const auto data = value_of<std::uint64_t>(line, "data:", 16);
  if (!fd || !events || !data) return std::nullopt;
  return SocketUses::Watch{Fd(), *fd, *events, *data};
}

}  // namespace

int WaitingCall::open() {
  if (pidfd_.valid()) return 0;
  const int pidfd = sys::open_thread(call_.thread);
  if (pidfd < 0) return -pidfd;
  pidfd_ = Fd(pidfd);
  return waiting() ? 0 : ESRCH;
}

int WaitingCall::copy(int fd, Fd& into) {
  if (const int error = open(); error != 0) return error;
  const int copied = sys::copy_descriptor(pidfd_.get(), fd);
  if (copied < 0) return -copied;
  into = Fd(copied);
  return waiting() ? 0 : ESRCH;
}

int WaitingCall::read_at(std::uint64_t address, void* into, std::size_t size) const {
  const ssize_t got = sys::read_memory(call_.thread, address, into, size);
  if (!waiting()) return ESRCH;
  if (got < 0) return static_cast<int>(got == -ESRCH ? EPERM : -got);
  return static_cast<std::size_t>(got) == size ? 0 : EFAULT;
}

int WaitingCall::read_path(std::size_t index, std::string& path) const {
  std::array<char, PATH_MAX> text;
  std::size_t size = 0;
  // Up to a page's end at a time: what lies behind it may not be there.
  while (size < text.size()) {
    const std::uint64_t address = call_.arguments[index] + size;
    const std::size_t rest = kSmallestPage - address % kSmallestPage;
    const std::size_t wanted = std::min(rest, text.size() - size);
    const ssize_t got = sys::read_memory(call_.thread, address, text.data() + size, wanted);
    if (!waiting()) return ESRCH;
    if (got < 0) return static_cast<int>(got == -ESRCH ? EPERM : -got);
    const char* begin = text.data() + size;
    const char* end = std::find(begin, begin + got, '\0');
    path.append(begin, end);
    if (end != begin + got) return 0;
    if (static_cast<std::size_t>(got) != wanted) return EFAULT;
    size += wanted;
  }
  return ENAMETOOLONG;
}

int WaitingCall::read_address(std::size_t index, GivenAddress& address) const {
  const int size = argument_as_int(index + 1);
  if (size < 0 || static_cast<std::size_t>(size) > sizeof address.bytes) return EINVAL;
  address.size = static_cast<std::size_t>(size);
  const ssize_t got =
      sys::read_memory(call_.thread, call_.arguments[index], &address.bytes, address.size);
  if (!waiting()) return ESRCH;
  if (address.size > 0 && got < 0) return static_cast<int>(got == -ESRCH ? EPERM : -got);
  return static_cast<std::size_t>(got) == address.size ? 0 : EFAULT;
}

int WaitingCall::read_socket(GivenSocket& socket) {
  if (const int error = copy(argument_as_int(0), socket.fd); error != 0) return error;
  const int fd = socket.fd.get();
  for (const auto& [name, value] :
       {std::pair(SO_DOMAIN, &socket.domain), std::pair(SO_TYPE, &socket.type),
        std::pair(SO_PROTOCOL, &socket.protocol)}) {
    if (const int error = read_option(fd, name, *value); error != 0) return error;
  }
  const auto network = sys::network_of(fd);
  const int flags = ::fcntl(fd, F_GETFL);
  if (!network || flags < 0) return EPERM;
  socket.network = *network;
  socket.blocking = (flags & O_NONBLOCK) == 0;
  return 0;
}

int WaitingCall::find_uses(int socket, SocketUses& uses) {
  struct stat status {};
  if (::fstat(socket, &status) < 0) return errno;
  const std::string own_link = "socket:[" + std::to_string(status.st_ino) + "]";
  const std::string process = "/proc/" + std::to_string(call_.thread);
  const DirectoryStream list(::opendir((process + "/fd").c_str()));
  if (!list) return errno;
  std::array<char, 64> link;
  while (const dirent* entry = ::readdir(list.get())) {
    const ssize_t length =
        ::readlinkat(::dirfd(list.get()), entry->d_name, link.data(), link.size());
    if (length <= 0) continue;
    const std::string_view target(link.data(), static_cast<std::size_t>(length));
    const bool holder = target == own_link;
    if (!holder && target != "anon_inode:[eventpoll]") continue;
    int number = -1;
    std::from_chars(entry->d_name, entry->d_name + std::strlen(entry->d_name), number);
    const std::string info = read_file(process + "/fdinfo/" + entry->d_name);
    if (holder) {
      const auto flags = value_of<unsigned>(info, "flags:", 8);
      if (!flags) return EIO;
      uses.holders.push_back({number, (*flags & static_cast<unsigned>(O_CLOEXEC)) != 0
                                          ? sys::CloseOnExec::Yes
                                          : sys::CloseOnExec::No});
      continue;
    }
    for (std::size_t at = info.find("tfd:"); at != std::string::npos;
         at = info.find("tfd:", at + 1)) {
      auto watch =
          read_watch(std::string_view(info).substr(at, info.find('\n', at) - at), status.st_ino);
      if (!watch) continue;
      // Each takes a descriptor of the supervisor, which serves other sandboxes too.
      if (uses.watches.size() == kMostWatches) return EMFILE;
      if (const int error = copy(number, watch->epoll); error != 0) return error;
      uses.watches.push_back(std::move(*watch));
    }
  }
  return waiting() ? 0 : ESRCH;
}

void WaitingCall::answer(std::int64_t value) {
  (void)sys::answer_with_value(listener_, call_.id, value);
  answered_ = true;
}

void WaitingCall::let_continue() {
  (void)sys::let_continue(listener_, call_.id);
  answered_ = true;
}

int WaitingCall::write_memory(std::uint64_t address, const void* from, std::size_t size) {
  if (!memory_.valid()) {
    const int opened = sys::open_memory(call_.thread);
    if (opened < 0) return -opened;
    memory_ = Fd(opened);
    if (!waiting()) return ESRCH;
  }
  const ssize_t put = ::pwrite(memory_.get(), from, size, static_cast<off_t>(address));
  return put == static_cast<ssize_t>(size) ? 0 : EFAULT;
}

int WaitingCall::give(int source, sys::CloseOnExec close) {
  const int result = sys::answer_with_descriptor(listener_, call_.id, source, close);
  answered_ = result >= 0;
  return result < 0 ? -result : 0;
}

int WaitingCall::put(int source, const SocketUses::Holder& holder) const {
  const int result = sys::put_descriptor(listener_, call_.id, source, holder.fd, holder.close);
  return result < 0 ? -result : 0;
}

}  // namespace cordon
