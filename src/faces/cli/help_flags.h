// What `cordon help` and `cordon` without a verb take, and the flags that many verbs have: both
// helps, colours, and the answer as JSON.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"

namespace cordon::flags {

inline constexpr std::array<std::string_view, 5> kFormatChoices{"text", "man", "bash", "zsh",
                                                                "fish"};

inline constexpr std::array<std::string_view, 3> kColorChoices{"auto", "always", "never"};

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

inline constexpr std::array kColor{
    Flag{FlagId::Color, "--color", "WHEN", ValueKind::Choice, Times::Once, "auto, always or never",
         "auto: colours on a terminal, and none with NO_COLOR or TERM=dumb. always and never win "
         "over both.",
         kColorChoices},
};

// Of every verb.
inline constexpr std::array kHelpAndColor{kColor[0], kHelp[0], kHelp[1]};

inline constexpr Flag kPageForBrowser{
    FlagId::Html,
    "--html",
    "",
    ValueKind::None,
    Times::Once,
    "answer with a page for a browser",
    "Answer with one page for a browser. It loads nothing and runs nothing.",
    {}};

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
    Flag{FlagId::Version, "-V", "", ValueKind::None, Times::Once, "the same", "The same.", {}},
    Flag{FlagId::Verbose,
         "--verbose",
         "",
         ValueKind::None,
         Times::Once,
         "with --version: what was proven where",
         "With --version: the architecture, and what of this build was never run on its own "
         "system.",
         {}},
    Flag{FlagId::CommandString,
         "-c",
         "COMMAND",
         ValueKind::Free,
         Times::Once,
         "run COMMAND contained, as sh -c does",
         "Run COMMAND by /bin/bash, as cordon run -- /bin/bash -c COMMAND, until the program that "
         "asked for it ends. For hosts that put a prefix before each command of theirs: for Claude "
         "Code CLAUDE_CODE_SHELL_PREFIX='/usr/bin/cordon -c'.",
         {}},
};

inline constexpr FlagGroup kHelpGroup{"Help and colours", kHelpAndColor};
// Of what only holds verbs.
inline constexpr FlagGroup kBareHelpGroup{"Help", kHelp};
inline constexpr FlagGroup kAnswerGroup{"Answer", kAnswer};

inline constexpr std::array kTopGroups{FlagGroup{"Options", kTopLevel}, kBareHelpGroup};
inline constexpr std::array kFormatGroups{FlagGroup{"Answer", kFormat}, kHelpGroup};

inline constexpr std::array kHelpOperands{
    Operand{"VERB", "the verb to explain", ValueKind::Free, {}}};

inline constexpr std::array kTopExamples{
    Example{"cordon run -- python3 -c 'print(1)'",
            "Run a program that can change this directory and nothing else.", 0},
    Example{"cordon policy explain write /etc/hostname", "Ask whether that would be permitted.", 1},
    Example{"cordon doctor", "See what this host can enforce.", 0},
};
inline constexpr std::array kHelpExamples{
    Example{"cordon help", "The verbs.", 0},
    Example{"cordon help run", "The long help of a verb.", 0},
    Example{"cordon help --format=bash", "The completions for bash.", 0},
};

inline constexpr Verb kTopLevelVerb{
    "",
    "VERB [OPTION]... [ARG]...",
    "contain what AI agents run",
    "Runs a command inside a boundary that the kernel enforces, under a policy that "
    "the operator sets and the command can only narrow.",
    kTopGroups,
    {},
    kTopExamples,
    2};

inline constexpr Verb kHelpVerb{"help",           "[VERB [SUB-VERB]]",
                                "explain a verb", "Prints the long help of a verb, or of Cordon.",
                                kFormatGroups,    kHelpOperands,
                                kHelpExamples,    2};

}  // namespace cordon::flags
