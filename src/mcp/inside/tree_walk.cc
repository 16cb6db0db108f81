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

std::vector<std::string> names_in(int directory, bool& failed) {
  std::vector<std::string> names;
  // A descriptor of its own: reading moves its place.
  Fd copy(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(copy.valid() ? ::fdopendir(copy.get()) : nullptr,
                                                   ::closedir);
  if (!stream) {
    failed = true;
    return names;
  }
  (void)copy.release();
  for (;;) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  failed |= errno != 0;
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
    for (const std::string& name : names_in(directory, passed_over_)) {
      if (end != WalkEnd::Complete) return;
      if (++looked_ > bounds_.entries || steady_clock::now() > deadline_) {
        end = WalkEnd::Bounded;
        return;
      }
      struct stat status {};
      if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) < 0) {
        passed_over_ |= errno != ENOENT;  // removed meanwhile
        continue;
      }
      const std::string path = prefix + name;
      if (!visit_({path, status, directory, name.c_str()})) {
        end = WalkEnd::Stopped;
        return;
      }
      if (!S_ISDIR(status.st_mode) || name == ".git") continue;
      if (level >= bounds_.depth) {
        passed_over_ |= !bounds_.depth_is_asked;
        continue;
      }
      const Fd inner(
          ::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (inner.valid()) {
        below(inner.get(), path + "/", level + 1);
      } else {
        passed_over_ |= errno != ENOENT;
      }
    }
  }

  [[nodiscard]] WalkEnd outcome() const {
    return end == WalkEnd::Complete && passed_over_ ? WalkEnd::Partly : end;
  }

  WalkEnd end = WalkEnd::Complete;

 private:
  const WalkBounds& bounds_;
  const std::function<bool(const WalkedEntry&)>& visit_;
  const steady_clock::time_point deadline_;
  std::size_t looked_ = 0;
  bool passed_over_ = false;
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
  return walk.outcome();
}

}  // namespace cordon::mcp
