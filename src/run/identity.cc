#include "run/identity.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>
#include <string>

#include "base/fd.h"
#include "host/look.h"

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

}  // namespace cordon
