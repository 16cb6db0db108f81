// The one table of names that are protected inside a writable grant, with the reason for each.
#pragma once

#include <span>
#include <string>
#include <string_view>

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
// Whether `name` means anything for an entry of `directory`: some count only in a home.
bool counts_in(const ProtectedName& name, std::string_view directory,
               std::span<const std::string> homes);
// Whether an entry of `directory` by that name is held, and not merely reported.
bool is_held_in(const ProtectedName& name, std::string_view directory,
                std::span<const std::string> homes);
std::string_view name_of(HoldKind kind);

// Directories in which editor files are only reported: packages ship them and nobody opens them.
bool is_package_directory(std::string_view name);

}  // namespace cordon
