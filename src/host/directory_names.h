// DirectoryNames: the names in one directory, read by getdents64 without a stat per entry.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cordon {

enum class EntryType { Directory, Regular, Symlink, Other };

struct DirectoryEntry {
  std::string_view name;
  EntryType type = EntryType::Other;
  std::uint64_t inode = 0;  // of the directory entry: differs from the object's at a mount point
};

// Reusable: one buffer serves a whole walk.
class DirectoryNames {
 public:
  DirectoryNames();
  // Everything but "." and "..". False on an error; what was read until then is kept. Names are
  // valid until the next call.
  bool read(int descriptor);
  // The same, but stops after some 64,000 names, for a directory that somebody filled without end.
  // True if the next call may find more.
  bool read_portion(int descriptor);
  [[nodiscard]] std::span<const DirectoryEntry> entries() const { return entries_; }
  [[nodiscard]] const DirectoryEntry* find(std::string_view name) const;

 private:
  enum class End { Whole, Portion, Failed };
  End read_names(int descriptor, std::size_t most);
  struct Span {
    std::size_t begin;
    std::size_t length;
  };
  std::unique_ptr<std::uint64_t[]> buffer_;  // NOLINT(modernize-avoid-c-arrays): aligned, unset
  std::string arena_;
  std::vector<Span> spans_;
  std::vector<DirectoryEntry> entries_;
};

}  // namespace cordon
