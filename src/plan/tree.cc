#include "plan/tree.h"

#include "base/path.h"

namespace cordon {

void Tree::directory(const std::string& path, unsigned mode) {
  if (path == "/" || exists(path)) return;
  directory(std::string(parent(path)));
  if (nearest(parent(path)) == Kind::Persistent) {
    operations_.push_back(op::MountPoint{path, FileKind::Directory});
    made_[path] = Kind::Persistent;
    return;
  }
  operations_.push_back(op::MakeDirectory{path, mode});
  made_[path] = Kind::Made;
}

void Tree::file(const std::string& path, std::string content, unsigned mode) {
  if (exists(path)) return;
  directory(std::string(parent(path)));
  operations_.push_back(op::MakeFile{path, std::move(content), mode});
  made_[path] = Kind::Made;
}

void Tree::symlink(const std::string& path, std::string target) {
  if (exists(path)) return;
  directory(std::string(parent(path)));
  operations_.push_back(op::MakeSymlink{path, std::move(target)});
  made_[path] = Kind::Made;
}

void Tree::mount_point(const std::string& path, FileKind kind) {
  if (kind == FileKind::Directory) {
    directory(path);
  } else if (!exists(path) && nearest(parent(path)) == Kind::Persistent) {
    directory(std::string(parent(path)));
    operations_.push_back(op::MountPoint{path, kind});
    made_[path] = Kind::Persistent;
  } else {
    file(path, {});
  }
}

void Tree::bind(const std::string& source, const std::string& path, MountAccess access,
                FileKind kind, FileId id) {
  mount_point(path, kind);
  operations_.push_back(op::Bind{source, path, access, kind, id});
  made_[path] = Kind::Bound;
}

void Tree::staged(op::StagedTree tree) {
  mount_point(tree.path, FileKind::Directory);
  made_[tree.path] = Kind::Staged;
  operations_.push_back(std::move(tree));
}

void Tree::skeleton(const std::string& path, FileId id, std::vector<op::Skeleton::Entry> entries) {
  // An overlay shows the host's directory under a number of its own.
  const bool covers = nearest(path) == Kind::Bound;
  mount_point(path, FileKind::Directory);
  operations_.push_back(op::Skeleton{path, covers ? id : FileId{}, std::move(entries)});
  made_[path] = Kind::Bound;
}

void Tree::bind_system(const std::string& path, FileKind kind) {
  mount_point(path, kind);
  operations_.push_back(op::BindSystem{path});
  made_[path] = Kind::Bound;
}

void Tree::bind_persistent(const std::string& source, const std::string& path) {
  mount_point(path, FileKind::Directory);
  operations_.push_back(
      op::Bind{source, path, MountAccess::ReadWrite, FileKind::Directory, FileId{}});
  made_[path] = Kind::Persistent;
}

void Tree::scratch(const std::string& name, const std::string& path, unsigned mode) {
  directory(path, mode);
  operations_.push_back(op::ScratchDirectory{name, path, mode});
  made_[path] = Kind::Made;
}

Tree::Kind Tree::nearest(std::string_view path) const {
  for (std::string_view at = path; at != "/"; at = parent(at)) {
    if (const auto found = made_.find(at); found != made_.end()) return found->second;
  }
  return Kind::Made;
}

bool Tree::exists(std::string_view path) const {
  if (path == "/" || made_.contains(path)) return true;
  return from_host(parent(path));
}

}  // namespace cordon
