// KnownDirectories: what mattered in the directories of a writable tree when they were last read,
// kept from run to run. The essay is in known_directories.cc.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/sha256.h"
#include "host/inspect.h"

namespace cordon {

class KnownDirectories {
 public:
  // `rules` decides which entries matter: what was kept by other rules is not found. Starts with
  // nothing if there is no file, or one that cannot be relied on.
  static std::shared_ptr<KnownDirectories> read(const std::string& state_directory,
                                                std::string_view tree, const Digest& rules);

  // The entries that mattered, packed (host/walk.h), if the directory has not changed since they
  // were read. They live as long as this does.
  [[nodiscard]] std::optional<std::string_view> find(const FileInfo& directory);
  // Enters a directory that was read from `read_ns` on, unless it could have been changed since
  // without its change time telling. `directory` was looked at before that.
  void keep(const FileInfo& directory, int descriptor, std::int64_t read_ns, std::string packed);
  [[nodiscard]] bool empty() const { return known_.empty(); }

  // Writes down what this run found, if that differs enough from what was read. A failure costs the
  // next run time and nothing else.
  void write();

 private:
  struct Known {
    std::int64_t changed_ns = 0;
    std::string_view packed;
    bool met = false;  // in a walk of this run
  };
  struct HashId {
    std::size_t operator()(const FileId& id) const;
  };

  void decode(std::string_view bytes);
  [[nodiscard]] std::string encode() const;
  bool tells_changes(const FileId& id, int descriptor);

  std::string directory_;  // of the files
  std::string name_;       // of this one's
  std::string bytes_;      // what was read
  std::unordered_map<FileId, Known, HashId> known_;
  std::unordered_map<FileId, std::string, HashId> packed_;  // of what this run keeps
  std::map<std::uint64_t, bool> devices_;                   // whether their change times tell
  std::size_t kept_bytes_ = 0;
  std::size_t added_ = 0;
};

// Whether something that last changed at `changed_ns` had its last change before `moment_ns`.
// Change times go by ticks of the clock, and on some disks by seconds: one that is not clearly
// earlier may be later.
bool is_surely_before(std::int64_t changed_ns, std::int64_t moment_ns);
// The clock that change times are taken from.
std::int64_t change_clock();

}  // namespace cordon
