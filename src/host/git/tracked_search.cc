#include "host/git/tracked_search.h"

#include <algorithm>

#include "base/text.h"

namespace cordon {
namespace {

constexpr std::size_t kMostTreeBytes = std::size_t{32} * 1024 * 1024;

bool is_file_mode(std::string_view mode, bool executable) {
  // Git wrote group-writable modes in its first years, and still reads them as 644.
  return executable ? mode == "100755" : mode == "100644" || mode == "100664";
}

}  // namespace

std::optional<std::string> TrackedSearch::proven(const std::string& id, std::string_view type) {
  auto content = source_(id, type);
  if (!content || git_object_id(hash_, type, *content) != id) return std::nullopt;
  return content;
}

const std::string* TrackedSearch::tree(const std::string& id) {
  if (const auto known = trees_.find(id); known != trees_.end()) return &known->second;
  auto content = proven(id, "tree");
  if (!content) return nullptr;
  if (tree_bytes_ + content->size() > kMostTreeBytes) {
    trees_.clear();
    tree_bytes_ = 0;
  }
  tree_bytes_ += content->size();
  return &trees_.emplace(id, *std::move(content)).first->second;
}

bool TrackedSearch::has(const std::string& root, const TrackedFile& file) {
  std::string at = root;
  const std::vector<std::string_view> parts = split(file.path, '/');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string* content = tree(at);
    const auto entry =
        content != nullptr ? find_in_git_tree(*content, parts[i], hash_) : std::nullopt;
    if (!entry) return false;
    if (i + 1 == parts.size()) {
      return entry->id == file.blob && is_file_mode(entry->mode, file.executable);
    }
    if (entry->mode != "40000") return false;
    at = entry->id;
  }
  return false;
}

std::vector<std::optional<TrackedPlace>> TrackedSearch::find(
    const std::vector<BranchTip>& tips, const std::vector<TrackedFile>& files) {
  std::vector<std::optional<TrackedPlace>> found(files.size());
  struct Waiting {
    std::string commit;
    const BranchTip* tip;
  };
  std::deque<Waiting> queue;
  std::set<std::string> queued;
  const auto add = [&](const std::string& commit, const BranchTip* tip) {
    if (queued.size() >= kMostSearchedCommits || is_written_(commit)) return;
    if (queued.insert(commit).second) queue.push_back({commit, tip});
  };
  if (!tips.empty()) hash_ = git_hash_of(tips.front().id);
  for (const BranchTip& tip : tips) add(tip.id, &tip);
  std::set<std::string> roots;  // that were looked at
  while (!queue.empty()) {
    const Waiting next = std::move(queue.front());
    queue.pop_front();
    const auto content = proven(next.commit, "commit");
    const auto commit = content ? parse_git_commit(*content, hash_) : std::nullopt;
    if (!commit) continue;
    if (roots.insert(commit->tree).second) {
      for (std::size_t i = 0; i < files.size(); ++i) {
        if (!found[i] && has(commit->tree, files[i])) found[i] = {next.tip->name, next.commit};
      }
    }
    const auto is_found = [](const auto& one) { return one.has_value(); };
    if (std::ranges::all_of(found, is_found)) break;
    for (const std::string& parent : commit->parents) add(parent, next.tip);
  }
  return found;
}

}  // namespace cordon
