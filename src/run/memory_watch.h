// MemoryWatch: what a process tree uses as the host sees it, where no cgroup counts it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/walk.h"
#include "policy/effective.h"

namespace cordon {

struct TreeUse {
  std::uint64_t bytes = 0;
  std::uint64_t tasks = 0;  // processes and their threads
};

class MemoryWatch {
 public:
  // The root itself is the sandbox's first process, a copy of Cordon's caller, and not the
  // command's doing.
  explicit MemoryWatch(pid_t root) : root_(root) {}

  // Tasks, and bytes that everything that descends from the root holds: resident anonymous and
  // shared pages, and the memory files it has open, mapped or not. Shared pages count once per
  // process, and once more where they belong to a memory file, so the figure errs on the large
  // side. One look examines a bounded number of descriptors and goes on in the next where it
  // stopped.
  TreeUse look();

 private:
  using MemoryFiles = std::map<FileId, std::uint64_t>;  // with the bytes each holds

  // The resident bytes of one process; its descriptor tables, each by one task, go to `tables`.
  std::uint64_t inspect_at(const std::vector<pid_t>& tasks, std::vector<pid_t>& tables) const;
  std::uint64_t memory_files(std::vector<pid_t> tables);
  // The number of descriptors that were examined.
  std::size_t examine(pid_t task, MemoryFiles& found);
  std::vector<pid_t> numbers_in(const std::string& directory);

  pid_t root_;
  DirectoryNames names_;
  std::map<pid_t, MemoryFiles> files_;  // by the task whose table was examined
  pid_t examined_last_ = 0;
};

// ScratchWatch: how much the private directories of a run hold on the disk, where no file system of
// their own bounds them. What cannot be looked into, and what was removed while open, is not
// counted: it is a watch, not a bound.

class ScratchWatch {
 public:
  explicit ScratchWatch(std::string root) : root_(std::move(root)) {}
  // Bytes of all files below the root, each once.
  std::uint64_t look();

 private:
  std::uint64_t inspect_at(const std::string& directory, std::vector<std::string>& pending);

  std::string root_;
  DirectoryNames names_;
};

// GitWatch: notices that a `commondir` appears in a git directory. With that pointer the host's git
// would take its configuration, and so its commands, from elsewhere on a plain `git status`.
//
// It looks at a few names every now and then rather than through inotify: closing an inotify
// instance waits for a grace period of the kernel, which costs every run in a repository 15 ms.

class GitWatch {
 public:
  // Made before the command starts; what is there already is not news.
  explicit GitWatch(const std::vector<std::string>& directories);
  [[nodiscard]] bool watches() const { return !names_.empty(); }
  [[nodiscard]] bool commondir_appeared() const;

 private:
  std::vector<std::string> names_;
};

}  // namespace cordon
