#include "egress/caller_view.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <string_view>

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

}  // namespace cordon
