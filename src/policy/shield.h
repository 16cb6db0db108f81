// What a ceiling's grant does not reach although it lies below it: protected and denied names are
// held where a grant begins, and a request for something further down would begin below them and
// step round them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "policy/effective.h"
#include "policy/path_modes.h"
#include "policy/protected_names.h"

namespace cordon {

enum class Shield {
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
Shield shield_below(const ResolvedCeiling& ceiling, std::string_view root, std::string_view path,
                    Grant::Source asked);
// By the longest rule of the ceiling that covers `path`. None where no rule does.
Shield shield_of(const ResolvedCeiling& ceiling, std::string_view path);

// The most a shield leaves.
PathMode bound_of(Shield shield);

}  // namespace cordon
