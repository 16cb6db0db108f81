// The words and flags of `cordon why`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"

namespace cordon::flags {

inline constexpr std::array kWhy{Flag{FlagId::Json,
                                      "--json",
                                      "",
                                      ValueKind::None,
                                      Times::Once,
                                      "print the report that was kept",
                                      "Print the report of the run, without its streams.",
                                      {}},
                                 kPageForBrowser};
inline constexpr std::array kWhyGroups{FlagGroup{"Answer", kWhy}, kHelpGroup};
inline constexpr std::array kWhyOperands{
    Operand{"RUN", "the id of a run or command, or last (the default)", ValueKind::Free, {}}};
inline constexpr std::string_view kWhyText =
    "Explains a run that is over: why it was not started, what ended it, what was denied and by "
    "which rule, what the ceilings took away, which files were moved, held back or lost, and what "
    "to change. last is the newest run of this user, by whichever verb or tool.\n\n"
    "Files that a policy hides look absent to a command, and nobody sees it look unless it was run "
    "with --why; of one path cordon policy explain tells.\n\n"
    "The exit status is 0 if there is something to tell, 1 if there is not, 2 for an error.";
inline constexpr std::array kWhyExamples{
    Example{"cordon why", "The last run; 1 if nothing was denied.", 1},
    Example{"cordon why 0123456789abcdef", "A run by its id.", 1},
    Example{"cordon why --html", "The same as a page for a browser.", 1},
};
inline constexpr Verb kWhyVerb{"why",        "[RUN]",    "explain what a run was denied",
                               kWhyText,     kWhyGroups, kWhyOperands,
                               kWhyExamples, 2};

}  // namespace cordon::flags
