#include "egress/file_changes.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <fcntl.h>
#include <unistd.h>
#include <utime.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <optional>
#include <vector>

#include "base/path.h"
#include "egress/waiting_call.h"
#include "sys/calls.h"

namespace cordon {
namespace {

// Newer than the distribution's headers.
constexpr int kFchmodat2 = 452;
constexpr int kRefusedChange = EPERM;
constexpr unsigned kOwnersRights = S_ISUID | S_ISGID;

using TimePair = std::array<timespec, 2>;

// Which file a call is about, as its arguments say it. Argument indexes; negative: there is none.
struct Target {
  int directory = -1;  // else the working directory
  int path = -1;       // else the directory's descriptor itself
  int flags = -1;
  bool link = false;  // a symlink itself is meant, whatever flags there are
};

int open_base(WaitingCall& call, const Target& target, bool absolute, Fd& base) {
  if (absolute) return open_root_of(call, base);
  const int given = target.directory < 0
                        ? AT_FDCWD
                        : call.argument_as_int(static_cast<std::size_t>(target.directory));
  if (given == AT_FDCWD) return open_directory_of(call, base);
  return call.read_descriptor(given, base);
}

// Opens what the call is about without the right to read or write it. Links in /proc are not
// followed: here they would lead to this process.
int open_target(WaitingCall& call, const Target& target, Fd& file) {
  const int flags =
      target.flags < 0 ? 0 : call.argument_as_int(static_cast<std::size_t>(target.flags));
  std::string path;
  if (target.path >= 0 && call.argument(static_cast<std::size_t>(target.path)) != 0) {
    const int error = call.read_path(static_cast<std::size_t>(target.path), path);
    if (error != 0) return error;
    if (path.empty() && (flags & AT_EMPTY_PATH) == 0) return ENOENT;
  }
  if (path.empty()) {
    const auto index = static_cast<std::size_t>(std::max(target.directory, 0));
    return call.read_descriptor(call.argument_as_int(index), file);
  }
  Fd base;
  if (const int error = open_base(call, target, path.front() == '/', base); error != 0) {
    return error;
  }
  const bool link = target.link || (flags & AT_SYMLINK_NOFOLLOW) != 0;
  const int opened =
      sys::openat2(base.get(), path.c_str(),
                   static_cast<std::uint64_t>(O_PATH | O_CLOEXEC | (link ? O_NOFOLLOW : 0)), 0,
                   sys::kResolveNoMagicLinks);
  if (opened < 0) return -opened == ELOOP ? kRefusedChange : -opened;
  file = Fd(opened);
  return 0;
}

std::string link_to(int file) { return "/proc/self/fd/" + std::to_string(file); }

template <typename T>
int read_pair(const WaitingCall& call, std::size_t index, std::array<T, 2>& into) {
  return call.read_memory(index, into.data(), sizeof into);
}

timespec from(const timeval& time) { return {time.tv_sec, time.tv_usec * 1000}; }

// The times argument of any of the four calls; none: now.
int read_times(const WaitingCall& call, std::size_t index, std::optional<TimePair>& times) {
  if (call.argument(index) == 0) return 0;
  TimePair read{};
  int error = 0;
#ifdef SYS_utime
  if (call.number() == SYS_utime) {
    std::array<time_t, 2> seconds{};
    error = read_pair(call, index, seconds);
    read = {timespec{seconds[0], 0}, timespec{seconds[1], 0}};
  } else if (call.number() == SYS_utimes || call.number() == SYS_futimesat) {
    std::array<timeval, 2> given{};
    error = read_pair(call, index, given);
    read = {from(given[0]), from(given[1])};
  } else {
    error = read_pair(call, index, read);
  }
#else
  (void)from;
  error = read_pair(call, index, read);
#endif
  if (error == 0) times = read;
  return error;
}

enum class Change { Mode, Times, Owner };

struct KnownCall {
  int number;
  Target target;
  std::size_t value;  // the argument that says what it is to become
  Change change;
};

constexpr KnownCall kCalls[] = {
#ifdef SYS_chmod
    {SYS_chmod, {-1, 0, -1}, 1, Change::Mode},   {SYS_utime, {-1, 0, -1}, 1, Change::Times},
    {SYS_utimes, {-1, 0, -1}, 1, Change::Times}, {SYS_futimesat, {0, 1, -1}, 2, Change::Times},
    {SYS_chown, {-1, 0, -1}, 1, Change::Owner},  {SYS_lchown, {-1, 0, -1, true}, 1, Change::Owner},
#endif
    {SYS_fchmod, {0, -1, -1}, 1, Change::Mode},  {SYS_fchmodat, {0, 1, -1}, 2, Change::Mode},
    {kFchmodat2, {0, 1, 3}, 2, Change::Mode},    {SYS_utimensat, {0, 1, 3}, 2, Change::Times},
    {SYS_fchown, {0, -1, -1}, 1, Change::Owner}, {SYS_fchownat, {0, 1, 4}, 2, Change::Owner},
};

int change_mode(int file, unsigned mode) {
  if ((mode & kOwnersRights) != 0) return kRefusedChange;
  struct stat status {};
  if (::fstat(file, &status) < 0) return errno;
  if (S_ISLNK(status.st_mode)) return EOPNOTSUPP;
  return ::chmod(link_to(file).c_str(), mode & 07777U) < 0 ? errno : 0;
}

int change_times(int file, const WaitingCall& call, std::size_t index) {
  std::optional<TimePair> times;
  if (const int error = read_times(call, index, times); error != 0) return error;
  return ::utimensat(file, "", times ? times->data() : nullptr, AT_EMPTY_PATH) < 0 ? errno : 0;
}

int keep_owner(int file, int user, int group) {
  struct stat status {};
  if (::fstat(file, &status) < 0) return errno;
  const bool same_user = user == -1 || static_cast<uid_t>(user) == status.st_uid;
  const bool same_group = group == -1 || static_cast<gid_t>(group) == status.st_gid;
  return same_user && same_group ? 0 : kRefusedChange;
}

const KnownCall* find(int number) {
  const auto* const found = std::ranges::find(kCalls, number, &KnownCall::number);
  return found == std::end(kCalls) ? nullptr : found;
}

}  // namespace

bool FileChanges::handles(int call) { return find(call) != nullptr; }

// The owner alone, as the kernel has it for a caller without capabilities. The place is asked of
// the object, not of the name: only the host could move it out of a directory that may be written.
int FileChanges::judge(int file) const {
  struct stat status {};
  if (::fstat(file, &status) < 0) return errno;
  std::array<char, PATH_MAX> place;
  const ssize_t size = ::readlink(link_to(file).c_str(), place.data(), place.size());
  if (size <= 0 || static_cast<std::size_t>(size) == place.size()) return kRefusedChange;
  const std::string_view path(place.data(), static_cast<std::size_t>(size));
  const auto covers = [&](const std::string& root) { return contains(root, path); };
  if (path.front() != '/' || std::ranges::none_of(writable_, covers)) return kRefusedChange;
  return status.st_uid == ::geteuid() ? 0 : kRefusedChange;
}

int FileChanges::answer(WaitingCall& call) const {
  const KnownCall* known = find(call.number());
  if (known == nullptr) return kRefusedChange;
  Fd file;
  if (const int error = open_target(call, known->target, file); error != 0) return error;
  if (const int error = judge(file.get()); error != 0) return error;
  switch (known->change) {
    case Change::Mode:
      return change_mode(file.get(), static_cast<unsigned>(call.argument_as_int(known->value)));
    case Change::Times:
      return change_times(file.get(), call, known->value);
    case Change::Owner:
      return keep_owner(file.get(), call.argument_as_int(known->value),
                        call.argument_as_int(known->value + 1));
  }
  return kRefusedChange;
}

}  // namespace cordon
