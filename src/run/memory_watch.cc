#include "run/memory_watch.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "sys/calls.h"

namespace cordon {
namespace {

// About fifty milliseconds' worth: the same thread relays output and keeps the wall clock.
constexpr std::size_t kDescriptorsPerLook = 16384;

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

std::string directory_of(pid_t task) { return join("/proc", std::to_string(task)); }

// Told by its name alone: asking a file system about what is open there could block.
bool is_memory_file(int descriptors, const std::string& number) {
  constexpr std::string_view kName = "/memfd:";
  std::array<char, kName.size()> start{};
  const ssize_t got = ::readlinkat(descriptors, number.c_str(), start.data(), start.size());
  return got == static_cast<ssize_t>(kName.size()) &&
         std::string_view(start.data(), start.size()) == kName;
}

}  // namespace

TreeUse MemoryWatch::look() {
  TreeUse total;
  std::vector<pid_t> tables;
  std::vector<pid_t> pending = {root_};
  while (!pending.empty()) {
    const pid_t process = pending.back();
    pending.pop_back();
    const std::string directory = join(directory_of(process), "task");
    const std::vector<pid_t> tasks = numbers_in(directory);
    if (process != root_) {
      total.bytes += inspect_at(tasks, tables);
      total.tasks += tasks.size();
    }
    // A child is listed under the thread that made it.
    for (const pid_t task : tasks) {
      const std::string children =
          read_file(join(directory, join(std::to_string(task), "children")));
      for (const std::string_view child : split(children, ' ')) {
        if (const auto number = parse_number(child)) pending.push_back(static_cast<pid_t>(*number));
      }
    }
  }
  total.bytes += memory_files(std::move(tables));
  return total;
}

std::uint64_t MemoryWatch::inspect_at(const std::vector<pid_t>& tasks,
                                      std::vector<pid_t>& tables) const {
  std::uint64_t resident = 0;
  for (const pid_t task : tasks) {
    // A first thread that ended has neither memory nor descriptors, though its process lives on.
    if (resident == 0) {
      const std::string status = read_file(join(directory_of(task), "status"));
      resident = (kilobytes(status, "RssAnon:") + kilobytes(status, "RssShmem:")) * 1024;
    }
    const bool known = !tables.empty() && sys::share_descriptors(task, tables.back());
    if (!known) tables.push_back(task);
  }
  return resident;
}

std::uint64_t MemoryWatch::memory_files(std::vector<pid_t> tables) {
  std::sort(tables.begin(), tables.end());
  std::erase_if(files_, [&](const auto& entry) {
    return !std::binary_search(tables.begin(), tables.end(), entry.first);
  });
  const auto next = std::upper_bound(tables.begin(), tables.end(), examined_last_);
  std::rotate(tables.begin(), next, tables.end());
  std::size_t examined = 0;
  for (const pid_t task : tables) {
    if (examined >= kDescriptorsPerLook) break;
    MemoryFiles found;
    examined += examine(task, found);
    files_[task] = std::move(found);
    examined_last_ = task;
  }
  MemoryFiles all;
  for (const auto& [task, found] : files_) all.insert(found.begin(), found.end());
  std::uint64_t total = 0;
  for (const auto& [id, bytes] : all) total += bytes;
  return total;
}

std::size_t MemoryWatch::examine(pid_t task, MemoryFiles& found) {
  const std::string directory = join(directory_of(task), "fd");
  const Fd descriptors(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!descriptors.valid() || !names_.read(descriptors.get())) return 0;
  for (const DirectoryEntry& entry : names_.entries()) {
    const std::string number(entry.name);
    struct stat status {};
    if (!is_memory_file(descriptors.get(), number)) continue;
    if (::fstatat(descriptors.get(), number.c_str(), &status, 0) != 0) continue;
    found[{status.st_dev, status.st_ino}] =
        static_cast<std::uint64_t>(status.st_blocks) * sys::kBlockBytes;
  }
  return names_.entries().size();
}

std::vector<pid_t> MemoryWatch::numbers_in(const std::string& directory) {
  std::vector<pid_t> numbers;
  const Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || !names_.read(fd.get())) return numbers;
  for (const DirectoryEntry& entry : names_.entries()) {
    if (const auto number = parse_number(entry.name)) {
      numbers.push_back(static_cast<pid_t>(*number));
    }
  }
  return numbers;
}

std::uint64_t ScratchWatch::look() {
  std::uint64_t total = 0;
  std::vector<std::string> pending = {root_};
  while (!pending.empty()) {
    const std::string directory = std::move(pending.back());
    pending.pop_back();
    total += inspect_at(directory, pending);
  }
  return total;
}

std::uint64_t ScratchWatch::inspect_at(const std::string& directory,
                                       std::vector<std::string>& pending) {
  const Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid() || !names_.read(fd.get())) return 0;
  std::uint64_t total = 0;
  for (const DirectoryEntry& entry : names_.entries()) {
    const std::string name(entry.name);
    struct stat status {};
    if (::fstatat(fd.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) continue;
    // A file of several names is counted in equal parts, by each of them.
    const std::uint64_t names =
        S_ISREG(status.st_mode) && status.st_nlink > 1 ? status.st_nlink : 1;
    total += static_cast<std::uint64_t>(status.st_blocks) * sys::kBlockBytes / names;
    if (S_ISDIR(status.st_mode)) pending.push_back(join(directory, name));
  }
  return total;
}

namespace {

bool is_there(const std::string& path) {
  struct stat status {};
  return ::fstatat(AT_FDCWD, path.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

}  // namespace

GitWatch::GitWatch(const std::vector<std::string>& directories) {
  for (const std::string& directory : directories) {
    std::string name = join(directory, "commondir");
    if (!is_there(name)) names_.push_back(std::move(name));
  }
}

bool GitWatch::commondir_appeared() const {
  return std::any_of(names_.begin(), names_.end(), is_there);
}

}  // namespace cordon
