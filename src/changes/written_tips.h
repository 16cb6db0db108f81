// WrittenTips: the commits that runs left as tips of local branches, as a file in the state
// directory. What is in it was not put into a branch by the person, whatever branch has it later
// and in whatever repository: an id is an id.
//
// The file only grows, one line for each tip. Nothing may ever be trusted because something was
// forgotten, so nothing is dropped. At 64 MiB (1.6 million tips) it is full, and then no branch is
// trusted until the person has looked through the branches and removes the file. The same holds for
// a file that cannot be read or understood. A repository in which the tips could not be told is
// named by its path and identity, and is not trusted either.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "policy/effective.h"

namespace cordon {

struct UntoldRepository {
  std::string path;
  FileId id;  // zero: not known
  bool operator==(const UntoldRepository&) const = default;
};

class WrittenTips {
 public:
  static std::string file_in(const std::string& state_directory);
  // Durable when it returns.
  static Result<void> add(const std::string& state_directory, const std::set<std::string>& tips,
                          std::span<const UntoldRepository> untold);
  static WrittenTips read(const std::string& state_directory);

  // Why nothing may be believed; empty: it may.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  [[nodiscard]] bool contains(const std::string& tip) const { return tips_.contains(tip); }
  [[nodiscard]] bool is_untold(const std::string& path, const FileId& id) const;

 private:
  bool add_line(std::string_view line);

  std::string problem_;
  std::unordered_set<std::string> tips_;
  std::vector<UntoldRepository> untold_;
};

// After a run: adds every tip in the git directories `directories` that is not one of `baseline`,
// the tips from before the run. A directory that cannot be told, or could not before the run, is
// added as such.
Result<void> add_new_tips(const std::string& state_directory,
                          const std::set<std::string>& directories,
                          const std::set<std::string>& untold_before,
                          const std::set<std::string>& baseline);

}  // namespace cordon
