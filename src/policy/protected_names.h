// The one table of names that are protected inside a writable grant, with the reason for each.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cordon/policy.h"
#include "policy/cure.h"
#include "policy/effective.h"

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
// The held names "a/b" of which `first` is the `a`, by the table as operators left it.
struct NameBehind {
  std::string_view last;  // lives as long as `rules`
  const ProtectedName* name = nullptr;
};
std::vector<NameBehind> names_behind(std::string_view first, const ProtectRules& rules);
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

// What a ceiling's grant does not reach although it lies below it: protected and denied names are
// held where a grant begins, and a request for something further down would begin below them and
// step round them.

enum class ProtectionBound {
  None,
  Protected,  // something the host's tools load, or below it: no more than readable
  Denied,     // by a deny of the ceiling that names no directory
};

// The entry of the table by which `path` itself is held; null if none does. By name alone: another
// spelling of case counts too, since a file system may take both for one.
const ProtectedName* held_name(std::string_view path, const HeldPlaces& places);
// The same for `path` or the nearest directory above it that is held as a whole: a grant that
// begins inside a protected place would step round the name that protects it. A directory of PATH
// holds the programs directly in it and nothing below.
const ProtectedName* held_place(std::string_view path, const HeldPlaces& places);

// Whether `path` lies in the directory of an agent in a home. The agent outside runs hooks and
// servers from it, so nothing there is opened for writing, whoever asks for it by name.
bool is_in_agent_directory(std::string_view path, const HeldPlaces& places);

// Whether `path` is or lies in a part of a git directory that git itself uses, whatever the
// directory is called: hooks, configuration, and what an interrupted rebase left. A git directory
// as a whole is arranged as one, and a work tree may lie in a bare repository.
bool is_in_git_part(std::string_view path, const HeldPlaces& places);

// For a path below `root`, which is the ceiling's own rule that decides about it; what lies above
// and the root itself are the operator's choice.
ProtectionBound protection_bound_below(const ResolvedCeiling& ceiling, std::string_view root,
                                       std::string_view path, Grant::Source asked);
// By the longest rule of the ceiling that covers `path`. None where no rule does.
ProtectionBound protection_bound_of(const ResolvedCeiling& ceiling, std::string_view path);

// The most that is left of a request.
PathMode bound_of(ProtectionBound protection_bound);

// Keeping: what a mechanism without mounts cannot hold. The content is kept before the run and put
// back afterwards.

// A protected object in a writable grant.
struct KeptPath {
  enum class Form : std::uint8_t { File, Tree, GitConfig };
  std::string path;
  HoldKind kind = HoldKind::Git;
  Form form = Form::File;
  auto operator<=>(const KeptPath&) const = default;
};

struct Keeping {
  std::vector<KeptPath> paths;
  // Directories that lead to them and must answer to their names again, parents first.
  std::vector<std::string> trace;
  [[nodiscard]] bool empty() const { return paths.empty() && trace.empty(); }
  auto operator<=>(const Keeping&) const = default;
};

}  // namespace cordon
