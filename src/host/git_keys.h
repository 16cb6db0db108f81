// The settings by which git starts a program, takes one from a directory, or reads more settings:
// one table with a reason each. What a value names inside a writable grant is protected like a
// hook, since git outside runs it without being asked again.
#pragma once

#include <span>
#include <string_view>

#include "host/git_config.h"

namespace cordon {

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
