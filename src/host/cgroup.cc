#include "host/cgroup.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"
#include "host/survey.h"

namespace cordon {
namespace {

constexpr std::string_view kMount = "/sys/fs/cgroup";
constexpr std::uint64_t kCgroup1Magic = 0x27e0eb;
constexpr std::uint64_t kCgroup2Magic = 0x63677270;
constexpr std::size_t kCgroupFileLimit = 65536;
constexpr std::array<std::string_view, 3> kWanted = {"cpu", "memory", "pids"};

// With the effective identity: a set-id launcher is judged by what it can really do. A read-only
// mount answers EROFS.
bool is_writable(const std::string& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
}

// Of the file system that a path is on; 0 where there is no such path.
std::uint64_t file_system_of(const std::string& path) {
  struct statfs status {};
  return ::statfs(path.c_str(), &status) == 0 ? static_cast<std::uint64_t>(status.f_type) : 0;
}

// Those that hold limits, of a file that lists controllers.
std::vector<std::string> controllers_in(const std::string& file) {
  std::vector<std::string> found;
  const auto text = read_regular(AT_FDCWD, file, kCgroupFileLimit);
  if (!text) return found;
  for (const std::string_view line : split(*text, '\n'))
    for (const std::string_view word : split(line, ' '))
      if (std::ranges::find(kWanted, word) != kWanted.end()) found.emplace_back(word);
  return found;
}

// What a run's group needs before its limits are worth more than rlimits.
bool suffices(const std::vector<std::string>& controllers) {
  const auto has = [&](std::string_view name) {
    return std::ranges::find(controllers, name) != controllers.end();
  };
  return has("memory") && has("pids");
}

// In a container the mount shows only our own part of the hierarchy, so the path in /proc may not
// exist below it; then the mount itself is our group. Engines that mount no hierarchy leave an
// empty directory in its place, where groups could be made that hold nothing.
std::optional<std::string> v1_parent(std::string_view controller, std::string_view own) {
  const std::string mount = join(kMount, controller);
  if (file_system_of(mount) != kCgroup1Magic) return std::nullopt;
  std::string path = join(mount, own);
  if (is_writable(path)) return normalize(path);
  if (own != "/" && ::faccessat(AT_FDCWD, path.c_str(), F_OK, 0) != 0 && is_writable(mount))
    return mount;
  return std::nullopt;
}

void add_v1(CgroupFacts& facts, std::string_view controllers, std::string_view own) {
  for (const std::string_view controller : split(controllers, ','))
    for (const std::string_view wanted : kWanted)
      if (controller == wanted)
        if (auto found = v1_parent(wanted, own)) facts.parents[std::string(wanted)] = *found;
}

struct OwnGroups {
  bool unified = false;
  std::string text;  // of /proc/self/cgroup
};

std::optional<OwnGroups> own_groups() {
  const std::uint64_t mounted = file_system_of(std::string(kMount));
  if (mounted == 0) return std::nullopt;
  auto text = read_regular(AT_FDCWD, "/proc/self/cgroup", kCgroupFileLimit);
  if (!text) return std::nullopt;
  return OwnGroups{mounted == kCgroup2Magic, std::move(*text)};
}

struct GroupLine {
  std::string_view hierarchy;
  std::string_view controllers;
  std::string_view path;
};

// Leaves out a group outside of our cgroup namespace.
std::vector<GroupLine> lines_of(std::string_view text) {
  std::vector<GroupLine> lines;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const GroupLine found{line.substr(0, first), line.substr(first + 1, second - first - 1),
                          line.substr(second + 1)};
    if (!has_dotdot(found.path)) lines.push_back(found);
  }
  return lines;
}

UnifiedGroups own_unified_groups(const OwnGroups& own) {
  for (const GroupLine& line : lines_of(own.text))
    if (line.hierarchy == "0") return unified_groups(std::string(kMount), line.path);
  return {};
}

}  // namespace

UnifiedGroups unified_groups(const std::string& mount, std::string_view own) {
  UnifiedGroups found;
  for (std::string path = normalize(mount + "/" + std::string(own)); contains(mount, path);
       path = std::string(parent(path))) {
    if (is_writable(path) && is_writable(path + "/cgroup.procs")) {
      const auto handed_on = controllers_in(path + "/cgroup.subtree_control");
      if (suffices(handed_on)) {
        found.facts.version = CgroupFacts::Version::V2;
        for (const std::string& controller : handed_on) found.facts.parents[controller] = path;
        found.idle.reset();
        return found;
      }
      auto could = controllers_in(path + "/cgroup.controllers");
      if (!found.idle && suffices(could) && is_writable(path + "/cgroup.subtree_control"))
        found.idle = IdleGroup{path, std::move(could)};
    }
    if (path == mount) break;
  }
  return found;
}

std::optional<IdleGroup> idle_group() {
  const auto own = own_groups();
  if (!own || !own->unified) return std::nullopt;
  return own_unified_groups(*own).idle;
}

CgroupFacts cgroup_facts() {
  CgroupFacts facts;
  const auto own = own_groups();
  if (!own) return facts;
  if (own->unified) return own_unified_groups(*own).facts;
  for (const GroupLine& line : lines_of(own->text)) add_v1(facts, line.controllers, line.path);
  if (!facts.parents.empty()) facts.version = CgroupFacts::Version::V1;
  return facts;
}

}  // namespace cordon
