#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>

#include "base/path.h"
#include "base/text.h"
#include "host/look.h"
#include "host/survey.h"

namespace cordon {
namespace {

constexpr std::string_view kMount = "/sys/fs/cgroup";
constexpr std::uint64_t kCgroup2Magic = 0x63677270;
constexpr std::size_t kLimit = 65536;

// With the effective identity: a set-id launcher is judged by what it can really do. A read-only
// mount answers EROFS.
bool is_writable(const std::string& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

bool names_controllers(const std::string& file) {
  const auto text = read_regular(AT_FDCWD, file, kLimit);
  if (!text) return false;
  bool memory = false;
  bool pids = false;
  for (const std::string_view line : split(*text, '\n'))
    for (const std::string_view word : split(line, ' ')) {
      memory |= word == "memory";
      pids |= word == "pids";
    }
  return memory && pids;
}

// A group with processes of its own may not hand controllers to children, and ours holds us. So the
// parent of a new group is the nearest ancestor that hands them on and that we may write; moving a
// process also needs its cgroup.procs.
std::optional<std::string> v2_parent(std::string_view own) {
  std::string path = join(kMount, own);
  while (contains(kMount, path)) {
    if (is_writable(path) && is_writable(path + "/cgroup.procs") &&
        names_controllers(path + "/cgroup.subtree_control"))
      return path;
    if (path == kMount) break;
    path = std::string(parent(path));
  }
  return std::nullopt;
}

// In a container the mount shows only our own part of the hierarchy, so the path in /proc may not
// exist below it; then the mount itself is our group.
std::optional<std::string> v1_parent(std::string_view controller, std::string_view own) {
  const std::string mount = join(kMount, controller);
  std::string path = join(mount, own);
  if (is_writable(path)) return normalize(path);
  if (own != "/" && ::faccessat(AT_FDCWD, path.c_str(), F_OK, 0) != 0 && is_writable(mount))
    return mount;
  return std::nullopt;
}

void add_v1(CgroupFacts& facts, std::string_view controllers, std::string_view own) {
  constexpr std::array<std::string_view, 3> kWanted = {"pids", "memory", "cpu"};
  for (const std::string_view controller : split(controllers, ','))
    for (const std::string_view wanted : kWanted)
      if (controller == wanted)
        if (auto found = v1_parent(wanted, own)) facts.parents[std::string(wanted)] = *found;
}

}  // namespace

CgroupFacts cgroup_facts() {
  CgroupFacts facts;
  struct statfs status {};
  if (::statfs(std::string(kMount).c_str(), &status) != 0) return facts;
  const bool unified = static_cast<std::uint64_t>(status.f_type) == kCgroup2Magic;
  const auto own = read_regular(AT_FDCWD, "/proc/self/cgroup", kLimit);
  if (!own) return facts;
  for (const std::string_view line : split(*own, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (has_dotdot(path)) continue;  // a group outside of our cgroup namespace
    if (unified && line.substr(0, first) == "0") {
      if (auto found = v2_parent(path)) facts.parents[""] = *found;
    } else if (!unified) {
      add_v1(facts, controllers, path);
    }
  }
  if (!facts.parents.empty())
    facts.version = unified ? CgroupFacts::Version::V2 : CgroupFacts::Version::V1;
  return facts;
}

}  // namespace cordon
