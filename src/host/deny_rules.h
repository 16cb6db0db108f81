// Deny entries: from what a person wrote to globs anchored at canonical directories.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cordon/policy.h"
#include "host/inspect.h"
#include "host/resolve.h"
#include "host/walk.h"
#include "policy/effective.h"

namespace cordon {

// A leading "**/" means every directory there is, not just those below the one it was written in.
Result<std::vector<DenyGlob>> resolve_denies(std::span<const PathRule> rules, const Caller& caller);

// What a granted directory is by where it lies. A walk that begins inside a place does not meet the
// names above it, so they are judged apart. (A root inside a held name is never writable: see
// held_place in policy/protected_names.h.)

// The state that a walk from further up would have brought along to `root`.
WalkedDirectory::State state_of_root(const std::string& root);

// True if `root` lies below a directory called .git and not in a working tree. Whichever is nearer
// decides, as for git. Parts of git directories with other names are known by
// policy/protected_names.h.
bool lies_in_git_directory(const std::string& root);

// What git takes for a git directory: HEAD with objects and refs, or HEAD with commondir. Asked of
// the directory itself, for where there is no whole list of its names.
bool is_git_directory(int directory);

// A directory of git's object storage with no directory in it. There are 256 of them and they hold
// nothing but files, so one look stands for a listing as long as its change time is the same: every
// name that is made in it changes that.
bool is_fan_out(const WalkedDirectory& storage, const DirectoryEntry& entry, const FileInfo& seen);

}  // namespace cordon
