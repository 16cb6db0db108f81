// Tree: the directory structure of the new root while a plan is written. It knows which paths exist
// already, so that every mount point is made exactly once and parents come before children.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"

namespace cordon {

class Tree {
 public:
  explicit Tree(std::vector<Op>& operations) : operations_(operations) {}

  // Makes `path` and its ancestors as empty directories unless they exist.
  void directory(const std::string& path, unsigned mode = 0755);
  void file(const std::string& path, std::string content, unsigned mode = 0444);
  void symlink(const std::string& path, std::string target);
  // A host object at `path`. The mount point is made if it is not part of a bound tree already.
  void bind(const std::string& source, const std::string& path, MountAccess access, FileKind kind,
            FileId id);
  // The same, with what is written to it kept apart.
  void staged(op::StagedTree tree);
  // A directory of its own at `path`, which is to be filled with binds of `entries`. `id` is that
  // of the host's directory, compared where the host's is what it covers; zero: it is not.
  void skeleton(const std::string& path, FileId id, std::vector<op::Skeleton::Entry> entries);
  // A part of the system at its own path, read-only once ReadOnlySoFar is carried out.
  void bind_system(const std::string& path, FileKind kind);
  // A directory of Cordon's own that lasts from run to run. Mount points below it are made anew.
  void bind_persistent(const std::string& source, const std::string& path);
  // A directory of the scratch space at `path`; what is below it can be made freely.
  void scratch(const std::string& name, const std::string& path, unsigned mode);

  // True if `path` is there inside: made here, or below a bound host directory.
  [[nodiscard]] bool exists(std::string_view path) const;
  // True if what is at `path` comes from the host: a bound object, or something below one.
  [[nodiscard]] bool from_host(std::string_view path) const {
    return nearest(path) == Kind::Bound || nearest(path) == Kind::Staged;
  }

 private:
  enum class Kind { Made, Bound, Staged, Persistent };
  // The nearest mount or made directory at or above `path`.
  [[nodiscard]] Kind nearest(std::string_view path) const;
  void mount_point(const std::string& path, FileKind kind);

  std::vector<Op>& operations_;
  std::map<std::string, Kind, std::less<>> made_;
};

}  // namespace cordon
