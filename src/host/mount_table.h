// MountTable: where else the mounts of this process show an object. A bind mount gives a directory
// or file a second name without a link: neither its path nor its count of links tells.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/result.h"

namespace cordon {

struct SecondName {
  std::string path;  // where a mount shows it too
  std::string
      original;  // the same object by its first name: what was asked for, or something in it
  bool operator==(const SecondName&) const = default;
};

class MountTable {
 public:
  // Of this process. An error if /proc does not tell: a table taken for empty would hide no second
  // name.
  static Result<MountTable> read();
  explicit MountTable(std::string_view mountinfo);

  // False: no file system is mounted at two places, so nothing has a second name.
  [[nodiscard]] bool shows_anything_twice() const { return twice_; }
  // By the table alone. A mount may be covered by a later one: whoever asks compares the identity
  // of both names.
  [[nodiscard]] std::vector<SecondName> second_names(std::string_view path) const;
  // A place below `path`, and not that itself, where something is mounted; empty if there is none.
  [[nodiscard]] std::string point_below(std::string_view path) const;
  // Whether something is mounted at `path` or below it.
  [[nodiscard]] bool has_point_in(std::string_view path) const;

 private:
  struct Mount {
    std::string device;  // as the table writes it: a file's own number may be another (btrfs)
    std::string root;    // what of the file system is mounted
    std::string point;
  };
  std::vector<Mount> mounts_;
  bool twice_ = false;
};

}  // namespace cordon
