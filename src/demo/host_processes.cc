#include "demo/host_processes.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/path.h"
#include "base/text.h"
#include "host/directory_names.h"
#include "host/look.h"

namespace cordon::demo {
namespace {

constexpr std::size_t kLongestCommandLine = std::size_t{1024} * 1024;

}  // namespace

std::optional<std::vector<std::string>> processes_with(const std::string& word) {
  const Fd processes(::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DirectoryNames names;
  if (!processes.valid() || !names.read(processes.get())) return std::nullopt;
  std::vector<std::string> found;
  bool complete = false;
  for (const DirectoryEntry& entry : names.entries()) {
    if (!parse_number(entry.name)) continue;
    const std::string place = join(entry.name, "cmdline");
    const Fd line(::openat(processes.get(), place.c_str(), O_RDONLY | O_CLOEXEC));
    const auto text = line.valid() ? read_all(line.get(), kLongestCommandLine) : std::nullopt;
    if (!text) continue;
    if (entry.name == std::to_string(::getpid())) complete = true;
    if (text->find(word) != std::string::npos) found.emplace_back(entry.name);
  }
  if (!complete) return std::nullopt;
  return found;
}

}  // namespace cordon::demo
