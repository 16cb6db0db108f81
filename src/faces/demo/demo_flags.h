// The words and flags of `cordon demo`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"

namespace cordon::flags {

inline constexpr std::array<std::string_view, 8> kActChoices{"1", "2", "3", "4",
                                                             "5", "6", "7", "8"};

inline constexpr std::array kDemoHow{
    Flag{FlagId::NoPause,
         "--no-pause",
         "",
         ValueKind::None,
         Times::Once,
         "straight through",
         "Do not wait for a key between the acts. Without a terminal nothing waits anyway.",
         {}},
    Flag{FlagId::ConfigOnly,
         "--config-only",
         "",
         ValueKind::None,
         Times::Once,
         "only the panel: what is in force",
         "Print what is configured and in force, proven by one contained run, and end.",
         {}},
    Flag{FlagId::Act, "--act", "N", ValueKind::Choice, Times::Many, "only this act, 1 to 8",
         "Only act N; may be given several times. 1: without a boundary, told and not run. 2: "
         "files. 3: a symlink that points out. 4: a fork bomb. 5: secrets. 6: exfiltration. 7: a "
         "tampered audit log. 8: two runs at once.",
         kActChoices},
    Flag{FlagId::Verbose,
         "--verbose",
         "",
         ValueKind::None,
         Times::Once,
         "requests, decisions and verdicts at length",
         "For each scenario the command, what it asked for, what the ceiling left of it, what was "
         "in force, how it ended and what was seen on the host, instead of one line. Nothing is "
         "run without Cordon.",
         {}},
    Flag{FlagId::Json,
         "--json",
         "",
         ValueKind::None,
         Times::Once,
         "answer as JSON",
         "Answer with one JSON document: for each scenario what was asked for, what the ceiling "
         "left of it, how the command ended, and what was seen on the host afterwards.",
         {}},
};

inline constexpr std::array kDemoGroups{FlagGroup{"How", kDemoHow}, kHelpGroup};

inline constexpr std::array kDemoExamples{
    Example{"cordon demo --config-only", "What is in force on this host.", 0},
    Example{"cordon demo --no-pause", "Every act without a pause.", 0},
    Example{"cordon demo --no-pause --json --act 3", "One act, for machines.", 0},
};

inline constexpr std::string_view kDemoText =
    "Shows on this host, in a home made for it, what the boundary does: each scenario is a real "
    "contained run of a real command, and what counts is what the host looks like afterwards. The "
    "same attempt is made without Cordon too, on what was planted in that home, and both are shown "
    "in one line: side by side at a terminal of 100 columns or more. A fork bomb is never set off "
    "without Cordon. Nothing of the user's own is read or written, and everything is removed at "
    "the end, also after Ctrl-C.\n\n"
    "The exit status is 0 if every scenario behaved as designed, 1 if one did not or this host "
    "cannot contain, 2 for an error, 128+N if signal N ended it.";

inline constexpr Verb kDemoVerb{
    "demo",        "", "a narrated demonstration on this host", kDemoText, kDemoGroups, {},
    kDemoExamples, 2};

}  // namespace cordon::flags
