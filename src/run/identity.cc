#include "run/identity.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"
#include "sys/calls.h"
#include "sys/ids.h"

namespace cordon {
namespace {

std::optional<std::string> read_about(pid_t process, const char* what) {
  constexpr std::size_t kLongest = 65536;
  const std::string path = "/proc/" + std::to_string(process) + "/" + what;
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.valid() ? read_all(file.get(), kLongest) : std::nullopt;
}

// All four ids of a line of /proc/PID/status, as they are here; nothing unless they are one.
std::optional<std::uint32_t> id_of(const std::string& status, const std::string& name) {
  const std::size_t at = status.find("\n" + name + ":");
  if (at == std::string::npos) return std::nullopt;
  unsigned real = 0;
  unsigned effective = 0;
  unsigned saved = 0;
  unsigned files = 0;
  if (std::sscanf(status.c_str() + at + name.size() + 2, "%u %u %u %u", &real, &effective, &saved,
                  &files) != 4) {
    return std::nullopt;
  }
  if (real != effective || real != saved || real != files) return std::nullopt;
  return real;
}

// What an id of ours is called in the process's namespace, by one of its id maps.
std::optional<std::uint32_t> inside_of(const std::string& map, std::uint32_t id) {
  const char* at = map.c_str();
  unsigned inside = 0;
  unsigned outside = 0;
  unsigned count = 0;
  int length = 0;
  while (std::sscanf(at, "%u %u %u%n", &inside, &outside, &count, &length) == 3) {
    if (id >= outside && id - outside < count) return inside + (id - outside);
    at += length;
  }
  return std::nullopt;
}

// True if the process is in this process's user namespace, where ids are what they are here.
bool in_own_namespace(pid_t process) {
  struct stat own {};
  struct stat theirs {};
  const std::string path = "/proc/" + std::to_string(process) + "/ns/user";
  return ::stat("/proc/self/ns/user", &own) == 0 && ::stat(path.c_str(), &theirs) == 0 &&
         own.st_ino == theirs.st_ino && own.st_dev == theirs.st_dev;
}

}  // namespace

std::optional<Identity> identity_of(pid_t process) {
  const auto status = read_about(process, "status");
  const auto users = read_about(process, "uid_map");
  const auto groups = read_about(process, "gid_map");
  if (!status || !users || !groups) return std::nullopt;
  const auto uid = id_of(*status, "Uid");
  const auto gid = id_of(*status, "Gid");
  if (!uid || !gid) return std::nullopt;
  if (in_own_namespace(process)) return Identity{*uid, *gid, *uid, *gid};
  const auto inside_uid = inside_of(*users, *uid);
  const auto inside_gid = inside_of(*groups, *gid);
  if (!inside_uid || !inside_gid) return std::nullopt;
  return Identity{*inside_uid, *inside_gid, *uid, *gid};
}

namespace {

constexpr std::uint64_t kNoSymlinks = sys::kResolveNoSymlinks | sys::kResolveNoMagicLinks;

// What is opened from the host's root. Sources of mounts may be opened by root before it becomes
// the owner, as the backend does; the system is mounted by the owner.
struct Source {
  const std::string* path;
  bool before = false;       // root may open it, without its powers
  bool plain = false;        // it may be reached by symlinks
  int descriptor = -EACCES;  // or why it could not be opened
};

// What is opened below a mounted source: to be masked, held or covered.
struct Target {
  std::size_t source;
  const std::string* path;
  std::size_t below;  // where the part behind the source begins
};

struct Needed {
  std::vector<Source> sources;
  std::vector<Target> targets;
  std::deque<std::string> made;  // paths that are written nowhere in the plan
};

// The path of an operation that covers something inside a grant; null for every other.
const std::string* covered_by(const Op& operation) {
  if (const auto* hold = std::get_if<op::Hold>(&operation)) return &hold->path;
  if (const auto* copy = std::get_if<op::PrivateCopy>(&operation)) return &copy->path;
  if (const auto* mask = std::get_if<op::Mask>(&operation)) return &mask->path;
  if (const auto* config = std::get_if<op::PrivateConfig>(&operation)) return &config->path;
  return nullptr;
}

void add_target(Needed& needed, const std::string& path) {
  const Source* found = nullptr;
  for (const Source& source : needed.sources) {
    if (!contains(*source.path, path)) continue;
    if (found == nullptr || source.path->size() > found->path->size()) found = &source;
  }
  if (found == nullptr || path.size() <= found->path->size()) return;
  const std::size_t below = *found->path == "/" ? 1 : found->path->size() + 1;
  needed.targets.push_back({static_cast<std::size_t>(found - needed.sources.data()), &path, below});
}

// A directory of Cordon's own stands for it, and what is in it is bound by root: whether the owner
// may search the host's decides whether the command gets to see it.
void add_searched(Needed& needed, const std::string& path) {
  needed.sources.push_back({&path, true, false});
  needed.made.push_back(path + "/.");
  needed.targets.push_back({needed.sources.size() - 1, &needed.made.back(), path.size() + 1});
}

Needed needed_by(const Plan& plan) {
  Needed needed;
  for (const Op& operation : plan.build) {
    if (const auto* bind = std::get_if<op::Bind>(&operation)) {
      needed.sources.push_back({&bind->source, true, bind->id == FileId{}});
    } else if (const auto* tree = std::get_if<op::StagedTree>(&operation)) {
      needed.sources.push_back({&tree->path, true, false});
    } else if (const auto* system = std::get_if<op::BindSystem>(&operation)) {
      needed.sources.push_back({&system->path, false, true});
    } else if (const auto* skeleton = std::get_if<op::Skeleton>(&operation)) {
      add_searched(needed, skeleton->path);
    }
  }
  for (const Op& operation : plan.build) {
    if (const std::string* path = covered_by(operation)) add_target(needed, *path);
  }
  return needed;
}

bool closed(int opened) { return opened == -EACCES || opened == -EPERM; }

int try_open(int directory, const char* path, std::uint64_t resolve) {
  return sys::openat2(directory, path, O_PATH | O_CLOEXEC, 0, resolve);
}

// What is found out, sent as it lies in memory: a source out of reach, or for every target the
// length of the path of the directory before it that may not be searched; 0: there is none.
struct Findings {
  std::int64_t closed_source = -1;
  std::vector<std::uint32_t> closed_before;
};

// From here on in the process that tries. No allocation: a program with other threads may have been
// copied.

bool open_sources(Needed& needed, Findings& findings, bool before) {
  for (Source& source : needed.sources) {
    // What is missing or has changed is for the run itself to make, or to tell.
    if (!closed(source.descriptor) || (before && !source.before)) continue;
    const std::uint64_t how = source.plain ? 0 : kNoSymlinks;
    source.descriptor = try_open(AT_FDCWD, source.path->c_str(), how);
    if (before || !closed(source.descriptor)) continue;
    findings.closed_source = &source - needed.sources.data();
    return false;
  }
  return true;
}

// The length of the longest part of a target's path that can be opened, if what is behind it
// cannot.
std::uint32_t closed_before(const Needed& needed, const Target& target) {
  const int source = needed.sources[target.source].descriptor;
  if (source < 0) return 0;
  std::array<char, PATH_MAX> part{};
  const std::string& path = *target.path;
  if (path.size() - target.below >= part.size()) return 0;
  std::size_t reached = target.below - 1;
  for (std::size_t at = target.below; at <= path.size(); ++at) {
    if (at < path.size() && path[at] != '/') continue;
    std::memcpy(part.data(), path.data() + target.below, at - target.below);
    part[at - target.below] = '\0';
    const int opened = try_open(source, part.data(), kNoSymlinks);
    if (opened >= 0) ::close(opened);
    if (closed(opened)) return static_cast<std::uint32_t>(reached);
    if (opened < 0) return 0;
    reached = at;
  }
  return 0;
}

// As they lie in memory: who reads them is the same program.
template <typename T>
std::string_view bytes_of(const T* first, std::size_t count) {
  return {reinterpret_cast<const char*>(first), count * sizeof(T)};
}

[[noreturn]] void try_as_owner(Needed& needed, Findings& findings, const Owner& owner, int answer) {
  if (sys::keep_only_id_capabilities() < 0) ::_exit(1);
  open_sources(needed, findings, true);
  if (sys::become(owner.uid, owner.gid) < 0) ::_exit(1);
  if (open_sources(needed, findings, false)) {
    for (std::size_t i = 0; i < needed.targets.size(); ++i) {
      findings.closed_before[i] = closed_before(needed, needed.targets[i]);
    }
  }
  const std::vector<std::uint32_t>& lengths = findings.closed_before;
  const bool sent = write_whole(answer, bytes_of(&findings.closed_source, 1)) == 0 &&
                    write_whole(answer, bytes_of(lengths.data(), lengths.size())) == 0;
  ::_exit(sent ? 0 : 1);
}

// And here in the one that asks.

Result<void> ask(Needed& needed, Findings& findings, const Owner& owner) {
  findings.closed_before.assign(needed.targets.size(), 0);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return fail(setup_error("cannot make a pipe", errno));
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return fail(setup_error("cannot start a process", errno));
  if (child == 0) try_as_owner(needed, findings, owner, writing.get());
  writing.reset();
  const std::size_t lengths = findings.closed_before.size() * sizeof(std::uint32_t);
  const auto answer = read_all(reading.get(), sizeof findings.closed_source + lengths);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (!answer || answer->size() != sizeof findings.closed_source + lengths) {
    return fail(setup_error("cannot try what the owner of the project may reach", 0));
  }
  std::memcpy(&findings.closed_source, answer->data(), sizeof findings.closed_source);
  std::memcpy(findings.closed_before.data(), answer->data() + sizeof findings.closed_source,
              lengths);
  return {};
}

Error out_of_reach(const std::string& path, const Owner& owner) {
  return {.kind = ErrorKind::Unsupported,
          .what = "the command runs as uid " + std::to_string(owner.uid) +
                  ", who owns what it may write, and that user may not reach " + quote(path),
          .hint =
              "let it through (chmod o+x the directories above it), leave it out of the policy, "
              "or give what is written to root (chown)"};
}

// What is bound only because a directory at or below this one is shown entry by entry.
std::set<std::string> entries_shown_in(const Plan& plan, const std::string& directory) {
  std::set<std::string> paths;
  for (const Op& operation : plan.build) {
    const auto* skeleton = std::get_if<op::Skeleton>(&operation);
    if (skeleton == nullptr || !contains(directory, skeleton->path)) continue;
    for (const op::Skeleton::Entry& entry : skeleton->entries) {
      if (entry.bound) paths.insert(join(skeleton->path, entry.name));
    }
  }
  return paths;
}

// Nothing that the command is to have may lie behind what is masked instead.
Result<void> check_nothing_behind(const Plan& plan, const std::string& directory,
                                  const Owner& owner) {
  const std::set<std::string> entries = entries_shown_in(plan, directory);
  for (const Op& operation : plan.build) {
    const std::string* path = nullptr;
    if (const auto* bind = std::get_if<op::Bind>(&operation)) path = &bind->path;
    if (path != nullptr && entries.contains(*path)) continue;
    if (const auto* scratch = std::get_if<op::ScratchDirectory>(&operation)) path = &scratch->path;
    if (const auto* config = std::get_if<op::PrivateConfig>(&operation)) path = &config->path;
    if (path != nullptr && *path != directory && contains(directory, *path)) {
      return fail(out_of_reach(*path, owner));
    }
  }
  return {};
}

// An entry of "/" that the owner may not search is not shown at all, as if there were none; one of
// a directory that is shown entry by entry is empty.
void leave_out(Plan& plan, const std::string& directory) {
  const std::set<std::string> entries = entries_shown_in(plan, directory);
  std::erase_if(plan.build, [&](const Op& operation) {
    const auto* bind = std::get_if<op::Bind>(&operation);
    if (bind != nullptr) return bind->path == directory || entries.contains(bind->path);
    const auto* skeleton = std::get_if<op::Skeleton>(&operation);
    if (skeleton != nullptr) return contains(directory, skeleton->path);
    const std::string* path = covered_by(operation);
    return path != nullptr && contains(directory, *path);
  });
}

Result<void> mask_instead(Plan& plan, const std::string& directory, const Owner& owner) {
  const std::set<std::string> all_entries = entries_shown_in(plan, "/");
  for (const Op& operation : plan.build) {
    const auto* bind = std::get_if<op::Bind>(&operation);
    if (bind == nullptr || bind->path != directory) continue;
    const bool is_granted = bind->id != FileId{} && !all_entries.contains(directory);
    if (is_granted) return fail(out_of_reach(directory, owner));
    leave_out(plan, directory);
    return {};
  }
  const auto seen = inspect_path(directory);
  if (!seen || seen->kind != FileKind::Directory) {
    return fail(setup_error("cannot look at " + quote(directory), errno));
  }
  const std::set<std::string> entries = entries_shown_in(plan, directory);
  std::vector<Op> build;
  bool masked = false;
  for (Op& operation : plan.build) {
    const std::string* path = covered_by(operation);
    bool hides_host = true;
    if (const auto* skeleton = std::get_if<op::Skeleton>(&operation)) {
      if (contains(directory, skeleton->path)) path = &skeleton->path;
      // Where it covers nothing of the host's, the empty mount point stays.
      hides_host = skeleton->id != FileId{};
    } else if (const auto* bind = std::get_if<op::Bind>(&operation)) {
      if (entries.contains(bind->path)) path = &bind->path;
    }
    const bool is_itself =
        path != nullptr && *path == directory && !std::holds_alternative<op::Skeleton>(operation);
    if (path == nullptr || is_itself || !contains(directory, *path)) {
      build.push_back(std::move(operation));
      continue;
    }
    if (!masked && hides_host) {
      build.emplace_back(
          op::Mask{directory, FileKind::Directory, seen->id, "the owner may not search it"});
    }
    masked = true;
  }
  plan.build = std::move(build);
  return {};
}

}  // namespace

Result<void> fit_to_owner(Plan& plan, const Owner& owner) {
  Needed needed = needed_by(plan);
  Findings findings;
  CORDON_CHECK(ask(needed, findings, owner));
  if (findings.closed_source >= 0) {
    const auto index = static_cast<std::size_t>(findings.closed_source);
    return fail(out_of_reach(*needed.sources[index].path, owner));
  }
  std::set<std::string> directories;
  for (std::size_t i = 0; i < needed.targets.size(); ++i) {
    const std::uint32_t length = findings.closed_before[i];
    if (length > 0) directories.insert(needed.targets[i].path->substr(0, length));
  }
  for (const std::string& directory : directories) {
    CORDON_CHECK(check_nothing_behind(plan, directory, owner));
  }
  for (const std::string& directory : directories) {
    CORDON_CHECK(mask_instead(plan, directory, owner));
  }
  return {};
}

}  // namespace cordon
