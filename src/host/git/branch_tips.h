// The tips of a repository's local branches, read as files: loose ones below refs/heads, and those
// in packed-refs. Git itself is not asked, since a run may have written the repository.
//
// Two questions are answered from what is read here, and both have to fail on the same side. "Which
// commits did a run make a branch of?" wants every value that git could take for a tip. "Which
// branches does the person have?" must not take a value for one that the first question missed. So
// everything is listed that stands in one of the two places, doubled lines and values that a loose
// file hides included, and whatever is not understood makes the whole repository untold.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "policy/effective.h"

namespace cordon {

struct BranchTip {
  std::string name;  // without "refs/heads/"
  std::string id;    // in small letters; empty: the file is a symbolic ref, or no ref at all
  bool loose = false;
  bool operator==(const BranchTip&) const = default;
};

struct BranchTips {
  // False: there is something that cannot be read or understood, more than 4096 loose files or more
  // than 4 MiB of packed-refs, or the refs are kept in another form (reftable).
  bool told = true;
  FileId directory;
  std::vector<BranchTip> tips;

  // Every value that is written down.
  [[nodiscard]] std::set<std::string> values() const;
  // What git takes for the branches: a loose file hides a packed line.
  [[nodiscard]] std::vector<BranchTip> branches() const;
};

// `directory` is a git directory by its canonical path. One that is not there has no branches.
BranchTips read_branch_tips(const std::string& directory);

// A ref by its whole name, "refs/tags/v1".
struct GitRef {
  std::string name;
  std::string id;  // as in BranchTip
  bool loose = false;
  bool operator==(const GitRef&) const = default;
};

// Branches and tags, and what is checked out.
struct GitRefs {
  bool told = true;          // as in BranchTips
  std::string head;          // "ref: refs/heads/main", or an id; empty: neither
  std::vector<GitRef> refs;  // below refs/heads and refs/tags
  bool operator==(const GitRefs&) const = default;
};
GitRefs read_git_refs(const std::string& directory);
// What git takes for the value; nothing if there is no such ref, or if it is no id.
std::optional<std::string> ref_value(const std::vector<GitRef>& refs, std::string_view name);

// The parts. False if git would not read such a file, or might read it in another way.
bool parse_packed_heads(std::string_view text, std::vector<BranchTip>& tips);
bool parse_packed_refs(std::string_view text, std::vector<GitRef>& refs);
// The text of HEAD without its end; nothing if it is neither a branch nor an id.
std::optional<std::string> parse_head(std::string_view text);
// The rule of git-check-ref-format(1) for a name below refs/heads or refs/tags, and none that git
// or a shell could take for an option.
bool is_ref_name(std::string_view name);
// The id in a loose ref; nothing if there is none.
std::optional<std::string> parse_loose_ref(std::string_view text);
// 40 or 64 hexadecimal digits.
bool is_object_id(std::string_view text);

}  // namespace cordon
