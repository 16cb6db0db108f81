#include "run/owner_reach.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "sys/calls.h"

namespace cordon {
namespace {

constexpr std::uint64_t kNoSymlinks = sys::kResolveNoSymlinks | sys::kResolveNoMagicLinks;

// What is opened from the host's root. Sources of mounts may be opened by root before it becomes
// the owner, as the backend does; the system is mounted by the owner.
struct Source {
  const char* path;
  bool before = false;       // root may open it, without its powers
  bool plain = false;        // it may be reached by symlinks
  int descriptor = -EACCES;  // or why it could not be opened
};

// What is opened below a mounted source: to be masked, held or covered.
struct Target {
  std::size_t source;
  std::string below;
  const char* path;
};

struct Needed {
  std::vector<Source> sources;
  std::vector<Target> targets;
};

void add_target(Needed& needed, const std::string& path) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < needed.sources.size(); ++i) {
    const std::string_view above = needed.sources[i].path;
    if (!contains(above, path)) continue;
    if (!found || above.size() > std::string_view(needed.sources[*found].path).size()) found = i;
  }
  if (!found) return;
  const std::string_view above = needed.sources[*found].path;
  if (path.size() <= above.size()) return;
  needed.targets.push_back(
      {*found, path.substr(above == "/" ? 1 : above.size() + 1), path.c_str()});
}

Needed needed_by(const Plan& plan) {
  Needed needed;
  for (const Op& operation : plan.build) {
    if (const auto* bind = std::get_if<op::Bind>(&operation)) {
      const bool own = bind->id.device == 0 && bind->id.inode == 0;
      needed.sources.push_back({bind->source.c_str(), true, own});
    } else if (const auto* system = std::get_if<op::BindSystem>(&operation)) {
      needed.sources.push_back({system->path.c_str(), false, true});
    }
  }
  for (const Op& operation : plan.build) {
    if (const auto* hold = std::get_if<op::Hold>(&operation)) add_target(needed, hold->path);
    if (const auto* mask = std::get_if<op::Mask>(&operation)) add_target(needed, mask->path);
    if (const auto* config = std::get_if<op::PrivateConfig>(&operation)) {
      add_target(needed, config->path);
    }
  }
  return needed;
}

int try_open(int directory, const char* path, std::uint64_t resolve) {
  return sys::openat2(directory, path, O_PATH | O_CLOEXEC, 0, resolve);
}

// The first thing out of reach, in the process that tries: no allocation, raw calls, since a
// program with other threads may have been copied.
const char* first_out_of_reach(Needed& needed, const Owner& owner) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2]{};
  sets[0].effective = sets[0].permitted = (1U << CAP_SETUID) | (1U << CAP_SETGID);
  if (::syscall(SYS_capset, &header, sets) < 0) return "/";
  const auto closed = [](int opened) { return opened == -EACCES || opened == -EPERM; };
  const auto open_all = [&](bool before) {
    for (Source& source : needed.sources) {
      // What is missing or has changed is for the run itself to make, or to tell.
      if (!closed(source.descriptor) || (before && !source.before)) continue;
      source.descriptor = try_open(AT_FDCWD, source.path, source.plain ? 0 : kNoSymlinks);
      if (!before && closed(source.descriptor)) return source.path;
    }
    return static_cast<const char*>(nullptr);
  };
  open_all(true);
  if (::syscall(SYS_setgroups, 0, nullptr) < 0 ||
      ::syscall(SYS_setresgid, owner.gid, owner.gid, owner.gid) < 0 ||
      ::syscall(SYS_setresuid, owner.uid, owner.uid, owner.uid) < 0) {
    return "/";
  }
  if (const char* path = open_all(false)) return path;
  for (const Target& target : needed.targets) {
    const int above = needed.sources[target.source].descriptor;
    if (above < 0) continue;
    const int opened = try_open(above, target.below.c_str(), kNoSymlinks);
    if (opened >= 0) ::close(opened);
    if (closed(opened)) return target.path;
  }
  return nullptr;
}

}  // namespace

Result<void> check_owner_reaches(const Plan& plan, const Owner& owner) {
  Needed needed = needed_by(plan);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0) return fail(setup_error("cannot make a pipe", errno));
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return fail(setup_error("cannot start a process", errno));
  if (child == 0) {
    // The address is the same on both sides: the memory is a copy.
    const char* closed = first_out_of_reach(needed, owner);
    const ssize_t written = ::write(writing.get(), &closed, sizeof closed);
    ::_exit(written == sizeof closed ? 0 : 1);
  }
  writing.reset();
  const char* closed = nullptr;
  ssize_t got = 0;
  do {
    got = ::read(reading.get(), &closed, sizeof closed);
  } while (got < 0 && errno == EINTR);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (got != sizeof closed) return fail(setup_error("cannot try what the owner may reach", 0));
  if (closed == nullptr) return {};
  return fail(Error{.kind = ErrorKind::Unsupported,
                    .what = "the command runs as uid " + std::to_string(owner.uid) +
                            ", who owns what it may write, and that user may not reach " +
                            quote(closed),
                    .hint = "let it through (chmod o+x the directories above it), leave it out of "
                            "the policy, or give what is written to root (chown)"});
}

}  // namespace cordon
