// The words and flags of `cordon learn`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"
#include "faces/cli/run_flags.h"

namespace cordon::flags {

inline constexpr std::array kLearn{
    Flag{FlagId::Out,
         "--out",
         "FILE",
         ValueKind::File,
         Times::Once,
         "write what was accepted to FILE",
         "Write the policy of what was accepted at the terminal to FILE, which must not exist yet. "
         "Without a terminal nothing is written, and the answer is 2. The command that uses the "
         "file "
         "is printed: a policy in the project is refused, since a run could rewrite it.",
         {}},
    Flag{FlagId::Json,
         "--json",
         "",
         ValueKind::None,
         Times::Once,
         "print what was found as JSON",
         "Print the rounds, the proposals and what was left out as JSON. Nobody is asked.",
         {}},
};
inline constexpr std::array kLearnGroups{kPolicyGroup, kLimitGroup, FlagGroup{"The answer", kLearn},
                                         kHelpGroup};
inline constexpr std::array kLearnOperands{Operand{
    "CMD [ARG]...", "the command and its arguments, passed on as they are", ValueKind::File, {}}};
inline constexpr std::string_view kLearnText =
    "Runs CMD, watches what its policy refuses it, and proposes a policy that lets it through, as "
    "TOML with a reason for each line. It can be more than CMD needs: programs ask for files that "
    "they do without, and a directory stands for three or more files in it. It can be less: what "
    "CMD did not come to ask for is not in it. The command runs up to five times, each "
    "time in a stage that is thrown away, since programs stop at the first thing they miss: "
    "nothing that it writes reaches the project. Its output goes to standard error, and its input "
    "is empty.\n\n"
    "At a terminal each line is asked for before it counts. Without one, what was asked for is "
    "granted to the next round as long as there is no network, for then nothing can leave; with a "
    "network there is one round. A host is never reached that nobody accepted. In the TOML, lines "
    "that let something be read stand as they are; lines for writing and for hosts, and for what "
    "was only looked for, stand behind a # unless they were accepted at the terminal.\n\n"
    "Everything in it was chosen by the command: read it before you use it. Credentials, and what "
    "a ceiling does not permit, are never proposed and named at the end, as is what the last round "
    "wrote to private places, where it seemed to succeed and is gone.\n\n"
    "The exit status is 0 if something is proposed, 1 if there is nothing to propose, 2 for an "
    "error, or where --out was given and nothing was written.";
inline constexpr std::array kLearnExamples{
    Example{"cordon learn -- make test", "Ask for each line at the terminal.", 1},
    Example{"cordon learn --policy strict -- python3 -c 'print(1)'",
            "What a narrower policy would need.", 1},
    Example{"cordon learn --json -- sh -c 'echo hello'", "For a program.", 1},
};
inline constexpr Verb kLearnVerb{"learn",
                                 "[--] CMD [ARG]...",
                                 "propose a policy for a command",
                                 kLearnText,
                                 kLearnGroups,
                                 kLearnOperands,
                                 kLearnExamples,
                                 2};

}  // namespace cordon::flags
