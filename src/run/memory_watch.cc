#include "run/memory_watch.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"

namespace cordon {
namespace {

std::string read_file(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return {};
  std::string text;
  std::array<char, 4096> block;
  for (;;) {
    const ssize_t got = ::read(fd.get(), block.data(), block.size());
    if (got <= 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

std::uint64_t kilobytes(std::string_view status, std::string_view name) {
  const std::size_t at = status.find(name);
  if (at == std::string_view::npos) return 0;
  std::uint64_t value = 0;
  for (const char c : status.substr(at + name.size())) {
    if (c >= '0' && c <= '9') {
      value = value * 10 + static_cast<std::uint64_t>(c - '0');
    } else if (c == 'k') {
      break;
    }
  }
  return value;
}

}  // namespace

std::uint64_t tree_memory(pid_t root) {
  std::uint64_t total = 0;
  std::vector<pid_t> pending = {root};
  while (!pending.empty()) {
    const std::string pid = std::to_string(pending.back());
    const std::string directory = join("/proc", pid);
    pending.pop_back();
    if (pid != std::to_string(root)) {
      const std::string status = read_file(join(directory, "status"));
      total += (kilobytes(status, "RssAnon:") + kilobytes(status, "RssShmem:")) * 1024;
    }
    const std::string children = read_file(join(directory, join("task", join(pid, "children"))));
    for (const std::string_view child : split(children, ' ')) {
      if (const auto number = parse_number(child)) pending.push_back(static_cast<pid_t>(*number));
    }
  }
  return total;
}

}  // namespace cordon
