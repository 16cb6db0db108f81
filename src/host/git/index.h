// A small strict reader of git's index, the list of files that a repository tracks. Like
// host/git/config.h it exists because git itself must not be run on a tree that a run may have
// written. Versions 2, 3 and 4, with SHA-1 or SHA-256; a split index is not read.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/git/object.h"
#include "policy/effective.h"

namespace cordon {

struct GitIndexEntry {
  std::string name;   // as git writes it: relative to the top of the work tree
  std::size_t begin;  // offset of the entry
  std::size_t flags;  // offset of its flags
  std::size_t size;   // of the whole entry, padding included
  bool extended;      // a second word of flags follows
};

struct GitIndex {
  unsigned version = 0;
  std::size_t hash = 0;  // bytes of an object name: 20 or 32
  std::vector<GitIndexEntry> entries;
  std::size_t end = 0;  // of the entries; extensions and the checksum follow
};

// The index of the repository whose work tree has its top at `top`, also where `.git` is a file
// that leads elsewhere, as in a linked worktree or a submodule. Empty if there is none. Whoever
// wrote that file decides where it leads.
std::string git_index_of(const std::string& top);

// Nothing if the bytes are no index, or one whose entries lie elsewhere.
std::optional<GitIndex> parse_git_index(std::string_view bytes);

// Whether two indexes say the same about every file: name, mode, object and flags. What git
// remembers of the work tree to spare itself a look (times, sizes, extensions) does not count, and
// `git status` writes it anew.
bool tracks_the_same(std::string_view one, std::string_view other);

// The index with every entry that is one of `names`, or lies below one, marked skip-worktree: git
// then does not take its absence for a deletion; or with that mark taken away. Optional extensions
// are left out; git makes them anew. Nothing if the bytes are no index, or nothing is to be changed
// in it.
enum class SkipMark { Set, Clear };
std::optional<std::string> mark_skip_worktree(std::string_view bytes,
                                              const std::vector<std::string>& names,
                                              SkipMark mark = SkipMark::Set);
// The same in the repository whose work tree has its top at `top`, by git's own lock. An error if
// the index could not be changed, with the command that does it as the hint; nothing to be changed
// is none.
Result<void> mark_skip_worktree_in(const std::string& top, const std::vector<std::string>& names,
                                   SkipMark mark = SkipMark::Set);

// The index after a checkout of another commit, by the rule of git-read-tree(1) for two trees: an
// entry that is as before becomes what it is after, one that is so already stays, and what differs
// in neither tree stays as well, staged or not. Of entries that change no times are remembered, so
// that git looks at the files. Nothing if an entry is neither, if the index is in the middle of a
// merge, or if it hides entries (sparse, assumed unchanged) that change. `bytes` is empty if there
// is none yet.
std::optional<std::string> follow_in_index(std::string_view bytes, GitHash hash,
                                           const std::vector<GitTreeChange>& changes);

// Of these paths those that git would replace when it checks out: their names stand in the index of
// the repository they lie in, and that repository's git directory may be written. A `.git` file
// counts if the directory it lies in is a submodule of that repository.
std::set<std::string> tracked_files(const std::vector<std::string>& paths,
                                    const std::vector<Grant>& writable);

}  // namespace cordon
