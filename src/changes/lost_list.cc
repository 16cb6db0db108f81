#include "changes/lost_list.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/fd.h"
#include "base/path.h"
#include "base/private_directory.h"
#include "host/directory_names.h"

namespace cordon {
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
                       const std::vector<Change>& changes) {
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
  const std::string place = lost_directory(state_directory);
  CORDON_CHECK(write_manifest(place, manifest, Durability::None));
  const Fd directory(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (directory.valid()) forget_oldest(directory.get());
  return {};
}

Result<std::optional<Manifest>> read_with_lost(const std::string& state_directory,
                                               const std::string& run_id) {
  const std::string handoff = handoff_directory(state_directory);
  const std::string lost = lost_directory(state_directory);
  std::string run = run_id;
  if (run.empty()) {
    CORDON_TRY(last_held, read_last_manifest(handoff));
    CORDON_TRY(last_lost, read_last_manifest(lost));
    if (!last_held && !last_lost) return std::optional<Manifest>();
    run = last_held ? last_held->run_id : last_lost->run_id;
  }
  CORDON_TRY(held, read_manifest(handoff, run));
  CORDON_TRY(gone, read_manifest(lost, run));
  if (!held) return gone;
  if (gone) std::ranges::move(gone->records, std::back_inserter(held->records));
  return held;
}

}  // namespace cordon
