#include "egress/socket_holders.h"

#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"

namespace cordon {
namespace {

DirectoryStream open_directory(int at, const char* path) {
  Fd fd(::openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DirectoryStream directory(fd.valid() ? ::fdopendir(fd.get()) : nullptr);
  if (directory) (void)fd.release();
  return directory;
}

std::optional<pid_t> number_in(std::string_view text) {
  pid_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

// The first bytes: enough of the short files that are read here.
std::string read_head(int at, const std::string& path) {
  const Fd fd(::openat(at, path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 4096> buffer;
  const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
  return {buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

// The process of a thread, as its own pid namespace numbers it: the last number of the line
// "NStgid: 4711 12".
std::optional<pid_t> number_inside(pid_t thread) {
  const std::string status = read_head(AT_FDCWD, "/proc/" + std::to_string(thread) + "/status");
  constexpr std::string_view kKey = "\nNStgid:";
  const std::size_t at = status.find(kKey);
  if (at == std::string::npos) return std::nullopt;
  std::string_view line = std::string_view(status).substr(at + kKey.size());
  line = line.substr(0, line.find('\n'));
  return number_in(line.substr(line.find_last_of(" \t") + 1));
}

// The kernel's flags of a process, which everybody may read: the ninth field of its stat, the
// seventh behind the name in brackets.
constexpr unsigned kExiting = 0x4;
constexpr unsigned kForkedNotExecuted = 0x40;
unsigned flags_of(int proc, const std::string& process) {
  const std::string stat = read_head(proc, process + "/stat");
  std::size_t at = stat.rfind(')');
  for (int field = 0; field < 7 && at != std::string::npos; ++field) at = stat.find(' ', at + 1);
  if (at == std::string::npos) return kExiting;  // gone
  unsigned flags = 0;
  std::from_chars(stat.data() + at + 1, stat.data() + stat.size(), flags);
  return flags;
}

bool closes_on_exec(int proc, const std::string& process, const char* fd) {
  const std::string info = read_head(proc, process + "/fdinfo/" + fd);
  constexpr std::string_view kKey = "flags:\t";
  const std::size_t at = info.find(kKey);
  if (at == std::string::npos) return false;
  unsigned flags = 0;
  std::from_chars(info.data() + at + kKey.size(), info.data() + info.size(), flags, 8);
  return (flags & static_cast<unsigned>(O_CLOEXEC)) != 0;
}

struct Holding {
  bool at_all = false;
  bool every_one_closes_on_exec = true;
};

// An errno if it cannot be looked at. A process that is gone or on its way holds nothing, and the
// kernel may not let its descriptors be seen any more.
int inspect_at(int proc, const std::string& process, std::string_view wanted, Holding& held) {
  const DirectoryStream list = open_directory(proc, (process + "/fd").c_str());
  if (!list) {
    const int error = errno;
    return (flags_of(proc, process) & kExiting) != 0 ? 0 : error;
  }
  std::array<char, 64> link;
  while (const dirent* entry = ::readdir(list.get())) {
    const ssize_t length =
        ::readlinkat(::dirfd(list.get()), entry->d_name, link.data(), link.size());
    if (length <= 0) continue;
    if (std::string_view(link.data(), static_cast<std::size_t>(length)) != wanted) continue;
    held.at_all = true;
    held.every_one_closes_on_exec &= closes_on_exec(proc, process, entry->d_name);
  }
  return 0;
}

// The parent of a process, from "4711 (name) S 4710 ..."; zero if it is gone.
pid_t parent_of(pid_t process) {
  const std::string stat = read_head(AT_FDCWD, "/proc/" + std::to_string(process) + "/stat");
  const std::size_t at = stat.rfind(')');
  pid_t parent = 0;
  if (at != std::string::npos && at + 4 < stat.size()) {
    std::from_chars(stat.data() + at + 4, stat.data() + stat.size(), parent);
  }
  return parent;
}

void add_children(pid_t process, std::vector<pid_t>& found) {
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  const DirectoryStream list = open_directory(AT_FDCWD, tasks.c_str());
  if (!list) return;
  while (const dirent* entry = ::readdir(list.get())) {
    // A child is listed under the thread that made it.
    const std::string text =
        read_head(::dirfd(list.get()), std::string(entry->d_name) + "/children");
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
      pid_t child = 0;
      const auto read = std::from_chars(at, end, child);
      if (read.ec != std::errc{}) break;
      found.push_back(child);
      at = read.ptr + 1;
    }
  }
}

// Every process of the caller's sandbox, where the host's /proc shows them among all others: what
// descends from the one that this process started for it.
std::vector<pid_t> sandbox_of(pid_t caller) {
  const pid_t supervisor = ::getpid();
  pid_t top = caller;
  for (pid_t above = parent_of(top); above > 1 && above != supervisor; above = parent_of(top)) {
    top = above;
  }
  std::vector<pid_t> processes;
  add_children(top, processes);
  for (std::size_t i = 0; i < processes.size(); ++i) {
    const pid_t process = processes[i];
    add_children(process, processes);
  }
  return processes;
}

// A process that hides its descriptors is passed over: the socket stays unconnected there, and
// nothing can be done with it.
int find_among_hosts(pid_t own, const std::string& wanted, std::vector<SocketHolder>& holders) {
  const DirectoryStream proc = open_directory(AT_FDCWD, "/proc");
  if (!proc) return EACCES;
  const int at = ::dirfd(proc.get());
  for (const pid_t process : sandbox_of(own)) {
    if (process == own) continue;
    const std::string name = std::to_string(process);
    Holding held;
    if (inspect_at(at, name, wanted, held) != 0 || !held.at_all) continue;
    holders.push_back(
        {process, held.every_one_closes_on_exec && (flags_of(at, name) & kForkedNotExecuted) != 0});
  }
  return 0;
}

}  // namespace

int find_other_holders(pid_t caller, ino_t inode, Neighbours neighbours,
                       std::vector<SocketHolder>& holders) {
  constexpr pid_t kFirstProcess = 1;  // Cordon's own; it holds no sockets of programs
  holders.clear();
  const auto own = number_inside(caller);
  const std::string wanted = "socket:[" + std::to_string(inode) + "]";
  if (neighbours == Neighbours::Host) return own ? find_among_hosts(*own, wanted, holders) : EACCES;
  const DirectoryStream proc =
      open_directory(AT_FDCWD, ("/proc/" + std::to_string(caller) + "/root/proc").c_str());
  if (!own || !proc) return EACCES;
  const int at = ::dirfd(proc.get());
  while (const dirent* entry = ::readdir(proc.get())) {
    const auto process = number_in(entry->d_name);
    if (!process || *process == *own || *process == kFirstProcess) continue;
    Holding held;
    if (const int error = inspect_at(at, entry->d_name, wanted, held); error != 0) return error;
    if (!held.at_all) continue;
    holders.push_back({*process, held.every_one_closes_on_exec &&
                                     (flags_of(at, entry->d_name) & kForkedNotExecuted) != 0});
  }
  return 0;
}

}  // namespace cordon
