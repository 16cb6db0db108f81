// What a setting of git does: whether it is harmless, and which settings name a program.
#pragma once

#include <span>
#include <string_view>

#include "host/git/config.h"

namespace cordon {

// True for settings that no git command turns into a program to run or a file to include. A
// positive list: what it does not know is not harmless.
bool is_harmless(const GitSetting& setting);

// The settings by which git starts a program, takes one from a directory, or reads more settings:
// one table with a reason each. What a value names inside a writable grant is protected like a
// hook, since git outside runs it without being asked again.

enum class GitValue {
  Command,    // a program or a line for the shell
  Bang,       // the same behind a '!', and git's own words without
  Address,    // of a repository: "ext::LINE" is a line for the shell
  Directory,  // programs are run or copied from it
};

struct GitKey {
  enum class Scope { Plain, Named, Both };  // [section], [section "name"]
  std::string_view section;
  std::string_view key;  // "*": every key of the section
  Scope scope;
  GitValue value;
  std::string_view reason;  // when git runs it
};

std::span<const GitKey> git_keys();
// Null for a setting that names no program.
const GitKey* find_git_key(const GitSetting& setting);

}  // namespace cordon
