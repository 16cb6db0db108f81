#include "changes/lost_list.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/fd.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "host/inspect.h"
#include "host/walk.h"
#include "policy/decide.h"

namespace cordon {
namespace {

constexpr std::uint64_t kMostGone = 100000;
constexpr std::size_t kMostNamesTold = 10;
constexpr int kDeepestGone = 64;

struct Sum {
  const Given& given;
  dev_t device = 0;
  std::uint64_t entries = 0;
  std::uint64_t files = 0;
  std::uint64_t bytes = 0;
};

void add(int directory, const std::string& name, const std::string& path, int depth, Sum& sum) {
  struct stat status {};
  if (++sum.entries > kMostGone || depth > kDeepestGone ||
      ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) != 0 ||
      status.st_dev != sum.device) {
    return;
  }
  if (!S_ISDIR(status.st_mode)) {
    if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) return;
    const bool was_given = status.st_size == 0 || S_ISLNK(status.st_mode);
    if (was_given && sum.given.mounted.contains(path)) return;
    const auto file = sum.given.files.find(path);
    if (file != sum.given.files.end() &&
        read_regular(directory, name, file->second.size() + 1) == file->second) {
      return;
    }
    ++sum.files;
    sum.bytes += static_cast<std::uint64_t>(status.st_size);
    return;
  }
  if (sum.given.mounted.contains(path)) return;
  const Fd fd(::openat(directory, name.c_str(),
                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  DirectoryNames names;
  if (!fd.valid() || !names.read(fd.get())) return;
  for (const DirectoryEntry& entry : names.entries()) {
    const std::string child(entry.name);
    add(fd.get(), child, join(path, child), depth + 1, sum);
  }
}

}  // namespace

Gone gone_with(int directory, const std::string& place, const Given& given) {
  Gone gone;
  struct stat status {};
  DirectoryNames names;
  if (::fstat(directory, &status) != 0 || ::lseek(directory, 0, SEEK_SET) != 0 ||
      !names.read(directory)) {
    return gone;
  }
  std::vector<std::string> sorted;
  for (const DirectoryEntry& entry : names.entries()) sorted.emplace_back(entry.name);
  std::ranges::sort(sorted);
  Sum sum{given, status.st_dev};
  const bool is_home = std::ranges::find(kScratchPlaces, place, &ScratchPlace::path) ==
                       std::ranges::end(kScratchPlaces);
  for (const std::string& name : sorted) {
    const std::uint64_t before = sum.files;
    add(directory, name, join(place, name), 1, sum);
    const bool quiet = is_home ? name == ".cache" : name.starts_with('.');
    const bool named = sum.files > before && !quiet;
    if (named && gone.names.size() < kMostNamesTold) gone.names.push_back(name);
  }
  gone.files = sum.files;
  gone.bytes = sum.bytes;
  return gone;
}

namespace {

// More than kMostLost files are reduced to kFewLost at once, so that not every run has to look.
constexpr std::size_t kMostLost = 200;
constexpr std::size_t kFewLost = 100;

void forget_oldest(int directory) {
  DirectoryNames names;
  if (!names.read(directory) || names.entries().size() <= kMostLost) return;
  struct Aged {
    time_t time;
    std::string name;
  };
  std::vector<Aged> files;
  for (const DirectoryEntry& entry : names.entries()) {
    struct stat status {};
    std::string name(entry.name);
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0)
      files.push_back({status.st_mtime, std::move(name)});
  }
  std::ranges::sort(files, {}, &Aged::time);
  for (std::size_t i = 0; i + kFewLost < files.size(); ++i)
    ::unlinkat(directory, files[i].name.c_str(), 0);
}

}  // namespace

std::string lost_directory(const std::string& state_directory) {
  return join(state_directory, "lost");
}

Result<void> note_lost(const std::string& state_directory, const std::string& run_id,
                       const std::vector<Change>& changes, std::vector<std::string> places) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  Manifest manifest{run_id,
                    static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
                        static_cast<std::uint64_t>(now.tv_nsec),
                    {}};
  for (const Change& change : changes) {
    if (change.state != Change::State::Lost) continue;
    ChangeRecord record;
    record.change = change.change;
    record.state = change.state;
    record.path = change.path;
    record.reason = change.reason;
    record.top = change.top;
    manifest.records.push_back(std::move(record));
  }
  if (manifest.records.empty()) return {};
  manifest.places = std::move(places);
  const std::string place = lost_directory(state_directory);
  CORDON_CHECK(write_manifest(place, manifest, Durability::None));
  const Fd directory(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory.valid()) forget_oldest(directory.get());
  return {};
}

Result<std::optional<Manifest>> read_with_lost(const std::string& state_directory,
                                               const std::string& run_id) {
  CORDON_TRY(held, read_manifest(handoff_directory(state_directory), run_id));
  CORDON_TRY(gone, read_manifest(lost_directory(state_directory), run_id));
  if (!held) return gone;
  if (gone) std::ranges::move(gone->records, std::back_inserter(held->records));
  return held;
}

}  // namespace cordon
