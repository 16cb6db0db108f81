#include "mcp/inside/tree_walk.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <vector>

#include "base/fd.h"

namespace cordon::mcp {
namespace {

using std::chrono::steady_clock;

std::vector<std::string> names_in(int directory) {
  std::vector<std::string> names;
  // A descriptor of its own: reading moves its place.
  Fd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(copy.valid() ? ::fdopendir(copy.get()) : nullptr,
                                                   ::closedir);
  if (!stream) return names;
  (void)copy.release();
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  std::ranges::sort(names);
  return names;
}

class Walk {
 public:
  Walk(const WalkBounds& bounds, const std::function<bool(const WalkedEntry&)>& visit)
      : bounds_(bounds),
        visit_(visit),
        deadline_(steady_clock::now() + std::chrono::seconds(bounds.seconds)) {}

  void below(int directory, const std::string& prefix, std::size_t level) {
    for (const std::string& name : names_in(directory)) {
      if (end != WalkEnd::Complete) return;
      if (++looked_ > bounds_.entries || steady_clock::now() > deadline_) {
        end = WalkEnd::Bounded;
        return;
      }
      struct stat status {};
      if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) continue;
      const std::string path = prefix + name;
      if (!visit_({path, status, directory, name.c_str()})) {
        end = WalkEnd::Stopped;
        return;
      }
      if (!S_ISDIR(status.st_mode) || name == ".git" || level >= bounds_.depth) continue;
      const Fd inner(
          ::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (inner.valid()) below(inner.get(), path + "/", level + 1);
    }
  }

  WalkEnd end = WalkEnd::Complete;

 private:
  const WalkBounds& bounds_;
  const std::function<bool(const WalkedEntry&)>& visit_;
  const steady_clock::time_point deadline_;
  std::size_t looked_ = 0;
};

}  // namespace

WalkEnd walk_tree(const std::string& root, const WalkBounds& bounds,
                  const std::function<bool(const WalkedEntry&)>& visit, int& failed) {
  failed = 0;
  struct stat status {};
  if (::lstat(root.c_str(), &status) < 0) {
    failed = errno;
    return WalkEnd::Stopped;
  }
  if (!S_ISDIR(status.st_mode)) {
    const bool goes_on = visit({"", status, -1, root.c_str()});
    return goes_on ? WalkEnd::Complete : WalkEnd::Stopped;
  }
  const Fd directory(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid()) {
    failed = errno;
    return WalkEnd::Stopped;
  }
  Walk walk(bounds, visit);
  walk.below(directory.get(), "", 1);
  return walk.end;
}

}  // namespace cordon::mcp
