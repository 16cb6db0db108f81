#include "faces/loop/tree_state.h"

#include "base/path.h"
#include "host/inspect.h"
#include "host/walk.h"

namespace cordon::loop {

class TreeState::Collector final : public TreeVisitor {
 public:
  Collector(const std::string& project, TreeState& state) : project_(project), state_(state) {}

  void visit(WalkedDirectory& directory) override {
    for (const DirectoryEntry& entry : directory.entries()) {
      if (entry.name == ".git") continue;
      const auto seen = inspect_name(directory.descriptor(), std::string(entry.name));
      if (!seen) continue;
      const bool descends = seen->kind == FileKind::Directory;
      if (descends) directory.descend(entry, 0);
      const std::string path = join(directory.path(), entry.name);
      state_.entries_[path.substr(project_ == "/" ? 1 : project_.size() + 1)] =
          descends ? Entry{true, 0, 0} : Entry{false, seen->size, seen->changed_ns};
    }
  }

 private:
  const std::string& project_;
  TreeState& state_;
};

Result<TreeState> TreeState::of(const std::string& project) {
  TreeState state;
  Collector collector(project, state);
  CORDON_CHECK(walk_tree(project, 0, collector));
  return state;
}

std::vector<std::string> TreeState::changes_to(const TreeState& later) const {
  std::vector<std::string> changes;
  const auto holds_something = [](const std::map<std::string, Entry>& entries,
                                  const std::string& path) {
    const auto below = entries.upper_bound(path + "/");
    return below != entries.end() && below->first.starts_with(path + "/");
  };
  const auto tell = [&](const char* what, const auto& entry, const TreeState& in) {
    const auto& [path, seen] = entry;
    if (seen.directory && holds_something(in.entries_, path)) return;
    changes.push_back(std::string(what) + " " + path + (seen.directory ? "/" : ""));
  };
  auto before = entries_.begin();
  auto after = later.entries_.begin();
  while (before != entries_.end() || after != later.entries_.end()) {
    const bool gone =
        after == later.entries_.end() || (before != entries_.end() && before->first < after->first);
    if (gone) {
      tell("deleted", *before++, *this);
    } else if (before == entries_.end() || after->first < before->first) {
      tell("added", *after++, later);
    } else {
      if (before->second != after->second) tell("modified", *after, later);
      ++before;
      ++after;
    }
  }
  return changes;
}

}  // namespace cordon::loop
