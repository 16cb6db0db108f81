// StageJudge: whether a change of a stage may be applied without a person who names it.
//
// In a live run protected names are held by mounts while the command works, and what appears is
// searched for afterwards. In a stage neither is needed: nothing is on the host before it is
// applied, and every path that changed is known. So one question is asked for each of them, by the
// same table: does something on the host run or load this, or would it change what Cordon itself
// protects?
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <string_view>

#include "changes/stage.h"
#include "policy/deny_index.h"

namespace cordon {

// Why a change waits. Without a reason it is an ordinary one.
struct StageVerdict {
  std::string reason;
  std::string top;  // the object that is protected: the path itself or a directory above it
};

class StageJudge {
 public:
  // Refers to `record`.
  explicit StageJudge(const StageRecord& record);

  // `path` is absolute. `replaces`: what stood there is gone afterwards, or is a symlink.
  [[nodiscard]] StageVerdict judge(std::string_view path, bool replaces) const;
  // What is no ordinary file: `mode` as of lstat, `target` of a symlink.
  [[nodiscard]] StageVerdict judge_object(std::string_view path, mode_t mode,
                                          std::string_view target) const;

 private:
  [[nodiscard]] bool leads_out(std::string_view path, std::string_view target) const;

  const StageRecord& record_;
  DenyIndex denies_;
};

// Reasons of objects that are never applied, whoever names them.
inline constexpr std::string_view kSetId = "set-id bit";
inline constexpr std::string_view kNoFile = "neither a file, a link nor a directory";
inline constexpr std::string_view kLeadsOut = "link leads out of the project";
// Of a git directory, which is never taken file by file, and of what in it does not arrive as a
// commit (changes/stage_git_list.h).
inline constexpr std::string_view kGitReason = "git directory";
inline constexpr std::string_view kGitElsewhere = "git directory of a linked worktree";
inline constexpr std::string_view kGitBare = "git directory without a work tree of its own";
inline constexpr std::string_view kGitFormat = "git directory in a form that is not read";
inline constexpr std::string_view kGitSettings = "settings of git";
inline constexpr std::string_view kGitHook = "hook of git";
inline constexpr std::string_view kGitStash = "stash";
inline constexpr std::string_view kGitRemote = "remote-tracking branch";
inline constexpr std::string_view kGitOtherRef = "neither a branch nor a new tag";
inline constexpr std::string_view kGitGone = "branch or tag that the run deleted";
inline constexpr std::string_view kGitStaged = "staged and not committed";
inline constexpr std::string_view kGitUnfinished = "merge, rebase or bisection under way";
inline constexpr std::string_view kGitEnded = "merge, rebase or bisection that the run ended";
inline constexpr std::string_view kGitModule = "repository of a submodule";
inline constexpr std::string_view kGitWorktree = "linked worktree that the run made";
// Commits that could not be followed by the host's branch, with the line that merges them behind a
// semicolon; and the files in them, which come with that.
inline constexpr std::string_view kToMerge = "; git ";
inline constexpr std::string_view kCommitted = "committed; comes with ";

bool is_never_applied(std::string_view reason);
// What a person can do about one of these.
std::string_view cure_of_unapplied(std::string_view reason);
// The reason with its cure, for people.
std::string with_cure(std::string_view reason);

}  // namespace cordon
