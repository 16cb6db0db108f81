// What git would not look at in a work tree: gitignore(5), from the .gitignore files of the tree
// and from .git/info/exclude at its top. Files of other places (core.excludesFile) are not read,
// and what is tracked all the same is not known here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cordon::mcp {

// The lines of such files. The last one that speaks of a name decides.
class IgnoreRules {
 public:
  // `base` is the directory of the file, relative to the top: "" or "src/".
  void add(std::string_view base, std::string_view text);
  [[nodiscard]] std::size_t size() const { return rules_.size(); }
  void shrink(std::size_t size) { rules_.resize(size); }
  // `path` is relative to the top. What lies in an ignored directory is ignored with it, which is
  // for the caller to see to.
  [[nodiscard]] bool ignores(std::string_view path, bool is_directory) const;

 private:
  struct Rule {
    std::string base;
    std::string pattern;
    bool negated = false;
    bool directories = false;  // only those
    bool top = false;          // only in `base` itself, since the pattern has one name
  };
  std::vector<Rule> rules_;
};

// The rules that hold at each step of a walk.
class IgnoredNames {
 public:
  // The walk begins at `root`, which lies in the work tree at `top`; both canonical. Whoever begins
  // in a directory that is ignored wants to see it: then nothing is.
  IgnoredNames(const std::string& top, const std::string& root);

  // A directory that is walked now, as a descriptor and by its path below the root: "" or "src/".
  void enter(int directory, std::string_view path);
  void leave();
  // Counts what it ignores.
  bool ignores(std::string_view path, bool is_directory);
  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  std::string prefix_;  // of the root below the top: "" or "src/"
  IgnoreRules rules_;
  std::vector<std::size_t> sizes_;
  bool off_ = false;
  std::size_t count_ = 0;
};

}  // namespace cordon::mcp
