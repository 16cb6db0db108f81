// inspect: identifying and reading objects relative to a directory descriptor, never through a
// symlink. Everything in host/ that touches a tree a contained program may have written goes
// through here, so that a planted link, FIFO or device is seen for what it is.
#pragma once

#include <sys/stat.h>

#include <fcntl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "policy/effective.h"

namespace cordon {

// For opening a directory, to list it or go below it, by a name that may be a planted link or FIFO.
inline constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
// Bits of a mode by which others than the owner change a file.
inline constexpr std::uint32_t kOthersMayWrite = 022;

struct FileInfo {
  FileKind kind = FileKind::Other;
  FileId id;
  bool symlink = false;  // kind is Other then
  std::uint64_t links = 1;
  std::uint32_t mode = 0;
  std::uint32_t owner = 0;
  std::uint64_t size = 0;
  std::int64_t changed_ns = 0;  // ctime: no program can set it back
  std::int64_t born_ns = 0;     // when the object was made, which nothing changes; 0: not known
};

// Collects, while it lives, what on this thread could not be looked at for another reason than not
// being there or not being allowed. "Cannot tell" must not be taken for "is not there": a protected
// file that a full descriptor table hid would otherwise be left writable.
class LookFailures {
 public:
  LookFailures();
  ~LookFailures();
  LookFailures(const LookFailures&) = delete;
  LookFailures& operator=(const LookFailures&) = delete;

  // The first failure, if there was one.
  [[nodiscard]] Result<void> check() const;
  // Called where a look failed; expected reasons are ignored. Leaves errno as it was.
  static void note(int error_number, std::string_view what);

 private:
  LookFailures* outer_;
  int error_number_ = 0;
  std::string what_;
};

FileInfo looked(const struct stat& status);
// lstat relative to `directory`; nothing if the name is not there or cannot be reached.
std::optional<FileInfo> inspect_name(int directory, const std::string& name);
std::optional<FileInfo> inspect_fd(int descriptor);
std::optional<FileInfo> inspect_path(const std::string& path);

// openat2 beneath `directory` with no symlink in any component; retries on a concurrent rename.
// The path may be longer than PATH_MAX.
Fd open_beneath(int directory, std::string_view path, int flags);
// The same from "/", for a canonical absolute path.
Fd open_canonical(const std::string& path, int flags);

// The content of a regular file; nothing if it is missing, of another type (a FIFO would block, a
// link leads elsewhere) or longer than `limit`.
std::optional<std::string> read_regular(int directory, const std::string& name, std::size_t limit);
// The same through symlinks, for files that a person may keep elsewhere. The place is found without
// opening it: to open a FIFO or a device may act.
std::optional<std::string> read_followed(const std::string& path, std::size_t limit);
// Reads to the end; nothing on an error or past `limit`.
std::optional<std::string> read_all(int descriptor, std::size_t limit);
std::optional<std::string> read_link(int directory, const std::string& name);

// PathTrace: what lookups pass on their way to a path.

struct PassedPlace {
  std::string path;
  FileInfo info;
};

struct TracedPath {
  // Every directory and symlink that is passed, by the name it has without symlinks, the end
  // included; as far as it exists. Ends where a loop of links would. They live as long as the
  // trace.
  std::vector<const PassedPlace*> passed;
  std::string missing;  // the first place that is not there; empty: all are
  // Where the way leads. Empty: nowhere, for a place is missing, cannot be looked at, or links
  // loop.
  std::string end;
  int links = 0;  // followed
};

// Looks once at each place that is there, however many ways lead through it.
class PathTrace {
 public:
  TracedPath to(const std::string& path);
  // Null: nothing is there, or it cannot be looked at.
  const PassedPlace* seen(const std::string& place);

 private:
  void go_on(TracedPath& way, std::string_view rest);

  std::unordered_map<std::string, std::unique_ptr<const PassedPlace>> seen_;
  // The directory of the path that was asked last, and the way to it: whoever asks for many names
  // asks for those of one directory one after another.
  std::string last_directory_;
  TracedPath last_way_;
};

// Directories that a run has moved: found again by their identity anywhere in its writable trees.

struct MovedWay {
  std::string path;  // where it was
  FileId id;
  Fd directory;      // in which it is now
  std::string name;  // as what
};

// At most 64, outer ones first by where they were: whoever moves more gets what is protected in
// them back by itself.
std::vector<MovedWay> find_moved_ways(std::span<const std::string> roots,
                                      const std::map<FileId, std::string>& moved);

}  // namespace cordon
