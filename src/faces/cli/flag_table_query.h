// The part of the flag table that belongs to the query verbs and to the command itself.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"

namespace cordon::flags {

inline constexpr std::array<std::string_view, 5> kFormatChoices{"text", "man", "bash", "zsh",
                                                                "fish"};
inline constexpr std::array<std::string_view, 4> kSchemaChoices{"policy", "report", "audit",
                                                                "changes"};
inline constexpr std::array<std::string_view, 4> kAccessChoices{"read", "write", "exec", "connect"};

inline constexpr std::array kHelp{
    Flag{FlagId::ShortHelp,
         "-h",
         "",
         ValueKind::None,
         Times::Once,
         "this short help",
         "Print one line for each option.",
         {}},
    Flag{FlagId::Help,
         "--help",
         "",
         ValueKind::None,
         Times::Once,
         "the long help, with examples",
         "Print the long help, which ends with examples.",
         {}},
};

inline constexpr std::array kAnswer{
    Flag{FlagId::Json,
         "--json",
         "",
         ValueKind::None,
         Times::Once,
         "answer as JSON",
         "Answer with one JSON document.",
         {}},
};

inline constexpr std::array<std::string_view, 6> kHostChoices{"claude", "codex",  "copilot",
                                                              "gemini", "vscode", "cursor"};

inline constexpr std::array<std::string_view, 4> kDialectChoices{"cordon", "mxc", "srt",
                                                                 "safeclaw"};

inline constexpr std::array kConvert{
    Flag{FlagId::From, "--from", "KIND", ValueKind::Choice, Times::Once,
         "cordon, mxc, srt or safeclaw",
         "What the document is: a policy of Cordon, a request of MXC (versions 0.4 to 1.1), "
         "settings of sandbox-runtime, a policy of SafeClaw's helper.",
         kDialectChoices},
    Flag{FlagId::To, "--to", "KIND", ValueKind::Choice, Times::Once, "cordon, mxc, srt or safeclaw",
         "What it is to become. One of the two is cordon.", kDialectChoices},
    Flag{FlagId::Drop,
         "--drop",
         "KEY,...",
         ValueKind::Free,
         Times::Many,
         "restrictions to give up, by name",
         "Restrictions that the target cannot say and that are to be given up. Without it they "
         "stop the conversion, and the error names them.",
         {}},
};

inline constexpr std::array kDoctor{
    Flag{
        FlagId::HostName, "--host", "HOST", ValueKind::Choice, Times::Once,
        "whether an agent host may act outside",
        "Instead of the checks, say whether this agent host may act outside of Cordon's tools, and "
        "the "
        "command line that leaves it nothing else: claude, codex, copilot, gemini, vscode, cursor. "
        "The exit status is 1: a host cannot be looked into from outside.",
        kHostChoices},
    Flag{FlagId::FixHints,
         "--fix-hints",
         "",
         ValueKind::None,
         Times::Once,
         "print only the cures, as commands",
         "Print only what to change, one line for each check that did not pass.",
         {}},
    Flag{FlagId::Json,
         "--json",
         "",
         ValueKind::None,
         Times::Once,
         "answer as JSON",
         "Answer with one JSON document.",
         {}},
};

inline constexpr std::array kFormat{
    Flag{FlagId::Format, "--format", "FORM", ValueKind::Choice, Times::Once,
         "text, man, bash, zsh or fish",
         "text: the long help. man: the options as a part of a manual page in scdoc form. bash, "
         "zsh, fish: the completions of that shell.",
         kFormatChoices},
};

inline constexpr std::array kTopLevel{
    Flag{FlagId::Version,
         "--version",
         "",
         ValueKind::None,
         Times::Once,
         "print the version",
         "Print the version on one line.",
         {}},
    Flag{FlagId::Verbose,
         "--verbose",
         "",
         ValueKind::None,
         Times::Once,
         "with --version: what was proven where",
         "With --version: the architecture, and what of this build was never run on its own "
         "system.",
         {}},
};

}  // namespace cordon::flags
