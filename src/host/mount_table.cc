// How a second name is found
//
// A line of /proc/self/mountinfo says: of the file system DEVICE the directory ROOT is seen at
// POINT. An object at path P below POINT is therefore, in its file system, ROOT + (P - POINT).
// Every other mount of the same device whose ROOT lies at or above that place shows the object too,
// at its own POINT + the rest. A mount whose ROOT lies below the place shows a part of it.
//
//   36 29 254:0 /home/u/.ssh /srv/keys rw ...
//   ~/.ssh is 254:0 /home/u/.ssh, so /srv/keys shows all of it;
//   36 29 254:0 /home/u /mnt/backup rw ...
//   ~/.ssh is 254:0 /home/u/.ssh, so it is /mnt/backup/.ssh as well.
//
// Which of several mounts at one point is on top is not told by the table in every kernel, so all
// of them are tried: a name that another mount hides leads to another object, and the caller
// compares. What this cannot see is one file system inside another: a directory that an overlay or
// a FUSE program shows is another object to the kernel.
#include "host/mount_table.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "host/inspect.h"

namespace cordon {
namespace {

constexpr std::size_t kMostOfTable = std::size_t{64} * 1024 * 1024;
constexpr std::size_t kDevice = 2;
constexpr std::size_t kRoot = 3;
constexpr std::size_t kPoint = 4;

// Space, tab, newline and backslash are written as three octal digits.
std::string unescape(std::string_view field) {
  std::string text;
  for (std::size_t at = 0; at < field.size(); ++at) {
    const auto digit = [&](std::size_t i) { return field[i] >= '0' && field[i] <= '7'; };
    const bool escaped = field[at] == '\\' && at + 3 < field.size() && digit(at + 1) &&
                         digit(at + 2) && digit(at + 3);
    if (!escaped) {
      text.push_back(field[at]);
      continue;
    }
    const int value =
        (field[at + 1] - '0') * 64 + (field[at + 2] - '0') * 8 + (field[at + 3] - '0');
    text.push_back(static_cast<char>(value));
    at += 3;
  }
  return text;
}

// The part of `path` behind `directory`, which contains it.
std::string_view rest_of(std::string_view path, std::string_view directory) {
  if (path.size() == directory.size()) return {};
  return path.substr(directory == "/" ? 1 : directory.size() + 1);
}

std::string below(const std::string& directory, std::string_view rest) {
  return rest.empty() ? directory : join(directory, rest);
}

}  // namespace

Result<MountTable> MountTable::read() {
  const Fd file(::open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC));
  const int error = file.valid() ? 0 : errno;
  const auto table = file.valid() ? read_all(file.get(), kMostOfTable) : std::nullopt;
  if (!table || table->empty())
    return fail(
        setup_error("cannot read /proc/self/mountinfo, which tells what a bind mount shows "
                    "a second time",
                    error));
  return MountTable(*table);
}

MountTable::MountTable(std::string_view mountinfo) {
  std::map<std::string, int> count;
  for (const std::string_view line : split(mountinfo, '\n')) {
    const std::vector<std::string_view> fields = split(line, ' ');
    // The root of another kind of file system (a namespace's file) is no path.
    if (fields.size() <= kPoint || !fields[kRoot].starts_with('/')) continue;
    mounts_.push_back(
        {std::string(fields[kDevice]), unescape(fields[kRoot]), unescape(fields[kPoint])});
    twice_ |= ++count[mounts_.back().device] > 1;
  }
}

std::vector<SecondName> MountTable::second_names(std::string_view path) const {
  std::vector<SecondName> found;
  if (!twice_) return found;
  const std::string asked(path);
  for (const Mount& first : mounts_) {
    if (!contains(first.point, path)) continue;
    const std::string place = below(first.root, rest_of(path, first.point));
    for (const Mount& other : mounts_) {
      if (other.device != first.device) continue;
      SecondName name;
      if (contains(other.root, place)) {
        name = {below(other.point, rest_of(place, other.root)), asked};
      } else if (contains(place, other.root)) {
        name = {other.point, below(asked, rest_of(other.root, place))};
      }
      if (!name.path.empty() && name.path != name.original) found.push_back(std::move(name));
    }
  }
  return found;
}

std::string MountTable::point_below(std::string_view path) const {
  for (const Mount& mount : mounts_)
    if (mount.point != path && contains(path, mount.point)) return mount.point;
  return {};
}

bool MountTable::has_point_in(std::string_view path) const {
  return std::ranges::any_of(mounts_,
                             [&](const Mount& mount) { return contains(path, mount.point); });
}

}  // namespace cordon
