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
// Of a git directory, which is never taken file by file.
inline constexpr std::string_view kGitReason = "git directory";
bool is_never_applied(std::string_view reason);
// What a person can do about one of these.
std::string_view cure_of_unapplied(std::string_view reason);

}  // namespace cordon
