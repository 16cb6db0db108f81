#include "host/walk.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/path.h"
#include "host/look.h"

namespace cordon {
namespace {

constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
// Enough to open children by name, also where reading is not allowed.
constexpr int kReopenDirectory = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
// Descriptors of ancestors kept open; further up the way back is "..", checked by identity.
constexpr std::size_t kOpenAncestors = 64;

}  // namespace

class TreeWalk {
 public:
  TreeWalk(const std::string& root, TreeVisitor& visitor) : root_(root), visitor_(visitor) {}

  Result<void> run(WalkedDirectory::State state) {
    if (root_ == "/") {
      Fd fd = open_canonical(root_, kOpenDirectory);
      const std::optional<Looked> seen = fd.valid() ? look(fd.get()) : std::nullopt;
      if (seen) enter(std::move(fd), *seen, {}, state);
    } else {
      const Fd above = open_canonical(std::string(parent(root_)), kReopenDirectory);
      if (above.valid()) open({above.get(), std::string(basename(root_)), root_}, state);
    }
    while (!frames_.empty()) {
      Frame& top = frames_.back();
      if (top.next == top.children.size()) {
        CORDON_CHECK(leave());
        continue;
      }
      WalkedDirectory::Child child = std::move(top.children[top.next++]);
      open({top.descriptor.get(), std::move(child.name), {}}, child.state);
    }
    return {};
  }

  [[nodiscard]] std::string path() const {
    std::string result = root_;
    for (std::size_t i = 1; i < frames_.size(); ++i) {
      if (result.back() != '/') result += '/';
      result += frames_[i].name;
    }
    return result;
  }

 private:
  struct Frame {
    Fd descriptor;
    FileId id;
    std::string name;
    std::vector<WalkedDirectory::Child> children;
    std::size_t next = 0;
  };

  // The path of a child is made only if it is needed.
  void open(ClosedDirectory place, WalkedDirectory::State state) {
    Fd fd(::openat(place.parent, place.name.c_str(), kOpenDirectory));
    if (!fd.valid() && errno != EACCES) return LookFailures::note(errno, place.name);
    std::optional<Looked> seen = fd.valid() ? look(fd.get()) : std::nullopt;
    if (!fd.valid() || (seen && !may_search(*seen))) {
      if (place.path.empty()) place.path = join(path(), place.name);
      fd = visitor_.open_closed(place);
      seen = fd.valid() ? look(fd.get()) : std::nullopt;
    }
    if (seen) enter(std::move(fd), *seen, std::move(place.name), state);
  }

  // Of an open directory. Only its owner is told by these bits, and only an owner can have closed
  // it.
  [[nodiscard]] bool may_search(const Looked& directory) const {
    return user_ == 0 || directory.owner != user_ || (directory.mode & S_IXUSR) != 0;
  }

  void enter(Fd fd, const Looked& seen, std::string name, WalkedDirectory::State state) {
    names_.read(fd.get());
    frames_.push_back({std::move(fd), seen.id, std::move(name), {}, 0});
    WalkedDirectory directory;
    directory.descriptor_ = frames_.back().descriptor.get();
    directory.id_ = seen.id;
    directory.name_ = frames_.back().name;
    directory.state_ = state;
    directory.names_ = &names_;
    directory.walk_ = this;
    visitor_.visit(directory);
    frames_.back().children = std::move(directory.children_);
    if (frames_.size() > kOpenAncestors)
      frames_[frames_.size() - 1 - kOpenAncestors].descriptor.reset();
  }

  // Back to the parent: its descriptor may have been given up on the way down.
  Result<void> leave() {
    const Fd below = std::move(frames_.back().descriptor);
    frames_.pop_back();
    if (frames_.empty() || frames_.back().descriptor.valid()) return {};
    Frame& up = frames_.back();
    Fd parent_fd(::openat(below.get(), "..", kReopenDirectory));
    std::optional<Looked> seen = parent_fd.valid() ? look(parent_fd.get()) : std::nullopt;
    if (!seen || seen->id != up.id) {
      // A directory was moved meanwhile, so ".." leads elsewhere: come down again by name.
      parent_fd = open_canonical(path(), kReopenDirectory);
      seen = parent_fd.valid() ? look(parent_fd.get()) : std::nullopt;
    }
    if (!seen || seen->id != up.id)
      return fail(setup_error("a directory was moved while the tree was searched", 0,
                              "try again when nothing else rearranges the tree"));
    up.descriptor = std::move(parent_fd);
    return {};
  }

  const std::string& root_;
  TreeVisitor& visitor_;
  const uid_t user_ = ::geteuid();
  DirectoryNames names_;
  std::vector<Frame> frames_;
};

const std::string& WalkedDirectory::path() const {
  if (path_.empty()) path_ = walk_->path();
  return path_;
}

Fd TreeVisitor::open_closed(const ClosedDirectory& /*closed*/) { return Fd(); }

Result<void> walk_tree(const std::string& root, WalkedDirectory::State state,
                       TreeVisitor& visitor) {
  return TreeWalk(root, visitor).run(state);
}

}  // namespace cordon
