// TrackedSearch: is a file, with this content and this mode, at this path in a commit that the
// person's own branches lead to?
//
// The repository has been in the hands of a run. Refs below refs/heads, packed-refs, loose objects,
// packs, commit graphs, replacements and grafts may all say what the run wants them to say. So
// nothing is believed but what a hash proves. The tips were written down before the run, and every
// object on the way is hashed: the commit under the id of the tip, its parents under the ids that
// it names, its tree, the trees below it. The last id on the way is compared with the hash of the
// file itself, whose content the repository is never asked for. A forged object has another hash
// than its name says, and the way ends there.
//
// Which commits count. A tip that a run wrote is no beginning (run/tracked_run.h), and it is no way
// either: a run could commit a file and take it out again in a second commit, and the person's own
// commit on top of that would make the first one reachable. So the search does not pass a commit
// that a run left as a tip. Commits that were rewritten on the host (rebase, squash) are the
// person's.
//
// What it costs. Commits are looked at breadth first, at most 4096 of them; trees are kept while
// they fit into 32 MiB, since one commit differs from the next in few of them.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "host/git/branch_tips.h"
#include "host/git/object.h"

namespace cordon {

inline constexpr std::size_t kMostSearchedCommits = 4096;

struct TrackedFile {
  std::string path;  // below the top of the work tree
  std::string blob;  // the id that its content has
  bool executable = false;
};

struct TrackedPlace {
  std::string branch;
  std::string commit;
};

class TrackedSearch {
 public:
  // The content of an object, by whatever means and of whatever truth; nothing if it is not there.
  using Source =
      std::function<std::optional<std::string>(const std::string& id, std::string_view type)>;

  // `is_written` is true of commits that a run left as the tip of a branch.
  TrackedSearch(Source source, std::function<bool(const std::string& id)> is_written)
      : source_(std::move(source)), is_written_(std::move(is_written)) {}

  // One answer for each file: where it was found, or nothing.
  std::vector<std::optional<TrackedPlace>> find(const std::vector<BranchTip>& tips,
                                                const std::vector<TrackedFile>& files);

 private:
  // Nothing unless its hash is `id`.
  std::optional<std::string> proven(const std::string& id, std::string_view type);
  const std::string* tree(const std::string& id);
  bool has(const std::string& root, const TrackedFile& file);

  Source source_;
  std::function<bool(const std::string&)> is_written_;
  GitHash hash_ = GitHash::Sha1;
  std::map<std::string, std::string> trees_;
  std::size_t tree_bytes_ = 0;
};

}  // namespace cordon
