// The one table of names that are protected inside a writable grant, with the reason for each.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cordon/policy.h"

namespace cordon {

enum class HoldKind {
  Git,
  Shell,
  Editor,
  Agent,
  Ssh,
  Path,
  Autostart,
  Cron,
  Denied,
  Build,
  Operator,
  ReadOnly
};

enum class HoldAction {
  Hold,    // read-only if present; moved out of the tree if it appears
  Report,  // left alone, named in the report if it appears or changes
};

struct ProtectedName {
  std::string_view name;  // one component, or "a/b": component b directly below a
  HoldKind kind;
  HoldAction action;
  bool home_only;           // counts only directly below a home directory
  std::string_view reason;  // what the host would run
};

std::span<const ProtectedName> protected_names();
// The entry for `name` (a single component) below a directory called `parent_name`; null if none.
const ProtectedName* find_protected(std::string_view parent_name, std::string_view name);
// The same by the table as operators left it: what they added is held wherever it lies, and what
// they released is an ordinary file. An addition wins over a release.
const ProtectedName* find_protected(std::string_view parent_name, std::string_view name,
                                    const ProtectRules& rules);
// The entry of `rules.add` that is meant by find_protected; empty if none is.
std::string_view added_name(std::string_view parent_name, std::string_view name,
                            const ProtectRules& rules);
// Whether a ceiling may release that name: it is one of the table, and not one by which git is kept
// from running what a run left in a repository.
bool can_be_released(std::string_view name);
// Whether `name` means anything for an entry of `directory`: some count only in a home.
bool counts_in(const ProtectedName& name, std::string_view directory,
               std::span<const std::string> homes);
// Whether an entry of `directory` by that name is held, and not merely reported.
bool is_held_in(const ProtectedName& name, std::string_view directory,
                std::span<const std::string> homes);
std::string_view name_of(HoldKind kind);

// Whether `name`, directly below a git directory, is one of git's own: a grant or a file tool that
// begins there reaches what git runs, and not a work tree that lies in a bare repository.
bool is_git_name(std::string_view name);

// Directories in which editor files are only reported: packages ship them and nobody opens them.
bool is_package_directory(std::string_view name);

}  // namespace cordon
