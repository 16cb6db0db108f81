// Hooks of an agent host that make each call of its shell a contained one, and what keeps such a
// hook from holding. A hook is believed only if everything about it is known: a member that this
// version does not know may keep the host from asking it or from waiting for its answer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "faces/doctor/agent_host.h"
#include "faces/doctor/host_settings.h"

namespace cordon {

// A member of the settings that switches hooks off unless it has the one value that does not.
struct HookSwitch {
  enum class Harmless { True, False, EmptyList };
  std::string_view key;
  std::string_view below = {};  // of the member at `key`; empty: that one itself
  Harmless harmless = Harmless::False;
};

// How one host writes its hooks down.
struct HookForm {
  enum class Shape { Groups, Flat };             // groups have a matcher
  enum class Failure { RunsCall, RefusesCall };  // what the host does when a hook fails
  std::string_view host;                         // the word behind `cordon hook`
  std::string_view event;
  Shape shape = Shape::Groups;
  Failure failure = Failure::RunsCall;
  std::string_view command;                   // the member with the line
  std::string_view time;                      // the member with the time it has
  std::int64_t half_minute = 30;              // in the unit of that member
  std::span<const std::string_view> remarks;  // members that change nothing
  std::span<const std::string_view> shell;    // the tools that run commands
  std::span<const HookSwitch> switches;
};

// Whether a line of a shell does nothing but call `cordon hook HOST`. Only a form that leaves no
// doubt counts: plain words, the program first. Anything a shell gives a meaning to (a comment, a
// second command, a redirection, a quote) could make the call a different one, or none.
bool is_hook_call(std::string_view command, std::string_view host);

// `cordon hook HOST` before each call of the shell; nothing if no settings name it. Only hooks in
// `own` contain. What `others` hold was written by whoever wrote the project: it switches hooks off
// and adds some, and its own hooks contain nothing.
std::optional<OwnTools> by_hook(std::span<const Settings> own, std::span<const Settings> others,
                                const HookForm& form);
// Whether any hook of the event calls Cordon, whatever it covers and however it fails.
bool names_hook(std::span<const Settings> files, std::string_view event, std::string_view host);

}  // namespace cordon
