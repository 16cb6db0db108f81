// list_git: what a run did in a git directory, as changes that can be told and taken.
//
// The files of a git directory hang together, and some of them are run by whoever uses git outside.
// So none of them is ever taken as a file. What can arrive is what the commands of git are about:
// commits, which are proven by their hashes, and the names that lead to them.
//
//   refs/heads, refs/tags   one change for each branch or tag that another commit is called by
//   HEAD                    one change, if another branch or commit is checked out
//   index                   one change; it follows what is checked out, or is told as staged only
//   logs                    told as lost: the host's log gets a line of its own
//   everything else         held and named, with what to do instead
//
// What is read is a layer: a ref in it counts as it was written, one that it does not have is as it
// was when the run began, not as it is on the host now. A branch is a loose file, a line of
// packed-refs, or gone from one and left in the other; so both are put together as git inside saw
// them.
//
// Nothing is said here about what the host did meanwhile: that is judged when the change is taken
// (changes/stage_git.h). Nor is a commit looked into: this is a list of names and ids.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "changes/manifest.h"
#include "changes/stage.h"

namespace cordon {

// A ref, HEAD or the index: `base` of a record says from where to where. Empty: it is not there.
struct GitMove {
  std::string before;
  std::string after;
};
std::string text_of_move(const GitMove& move);
// Nothing for a record of an ordinary file.
std::optional<GitMove> git_move_of(const ChangeRecord& record);
inline constexpr std::string_view kGitBase = "git ";
inline bool is_git_record(const ChangeRecord& record) { return record.base.starts_with(kGitBase); }

// A git directory in both trees.
struct GitLayer {
  std::string path;
  std::string kept;
  int upper = -1;
  int lower = -1;
};

// Why commits in this git directory do not arrive; empty: they do. Looks at the host's alone.
std::string_view unsupported_git(int directory);

// `inside` is the list of files that changed in it. Nothing if they are to be one entry, with
// `reason`.
std::optional<std::vector<ChangeRecord>> list_git(const StageRecord& stage, const GitLayer& layer,
                                                  const std::vector<ChangeRecord>& inside,
                                                  std::string_view& reason);

// The content of a file that the run wrote, `below` its upper directory; nothing if it is no
// regular file, or longer.
std::optional<std::string> read_layer(int upper, std::string_view below, std::size_t limit);

}  // namespace cordon
