// The words and flags of `cordon srt`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"
#include "faces/cli/run_flags.h"

namespace cordon::flags {

inline constexpr std::string_view kSettingsText =
    "The file with the settings (default: ~/.srt-settings.json). Without the default one nothing "
    "may be written and no host be reached; one that is named must be there.";

inline constexpr std::array kSrtRun{
    Flag{FlagId::Settings,
         "-s",
         "FILE",
         ValueKind::File,
         Times::Once,
         "the settings (~/.srt-settings.json)",
         kSettingsText,
         {}},
    Flag{FlagId::Settings,
         "--settings",
         "FILE",
         ValueKind::File,
         Times::Once,
         "the same",
         "The same as -s.",
         {}},
    Flag{FlagId::CommandString,
         "-c",
         "STRING",
         ValueKind::Free,
         Times::Once,
         "what bash is to run, instead of CMD",
         "What bash is to run inside, instead of CMD.",
         {}},
    Flag{FlagId::ControlFd,
         "--control-fd",
         "N",
         ValueKind::Free,
         Times::Once,
         "read further settings from descriptor N",
         "Read further settings from descriptor N, 3 or more, while the command runs: one JSON "
         "document a line, complete each time. The network part holds from the next connection "
         "on; a line that would change anything else is refused. The command does not have the "
         "descriptor.",
         {}},
    Flag{FlagId::Env,
         "--env",
         "NAME[=VALUE]",
         ValueKind::Variable,
         Times::Many,
         "pass a variable through, or set it",
         "NAME passes the caller's value on, NAME=VALUE sets one. sandbox-runtime has no such "
         "option: it passes everything on.",
         {}},
    kBackend,
};

inline constexpr std::array kSrtTalk{
    Flag{FlagId::Debug,
         "-d",
         "",
         ValueKind::None,
         Times::Once,
         "say on standard error what is done",
         "Say on standard error what is done, what of the settings has no effect, what the "
         "ceilings took away and what was refused. SRT_DEBUG=1 does the same.",
         {}},
    Flag{FlagId::Debug,
         "--debug",
         "",
         ValueKind::None,
         Times::Once,
         "the same",
         "The same as -d.",
         {}},
    Flag{FlagId::Version,
         "-V",
         "",
         ValueKind::None,
         Times::Once,
         "print the version of Cordon",
         "Print the version of Cordon.",
         {}},
    Flag{FlagId::Version,
         "--version",
         "",
         ValueKind::None,
         Times::Once,
         "the same",
         "The same as -V.",
         {}},
};

inline constexpr std::array kSrtGroups{FlagGroup{"The run", kSrtRun}, FlagGroup{"Talk", kSrtTalk},
                                       kHelpGroup};

inline constexpr std::array kSrtOperands{Operand{
    "CMD [ARG]...", "the command and its arguments, passed on as they are", ValueKind::File, {}}};

inline constexpr std::array kSrtExamples{
    Example{"cordon srt ls", "Without settings everything may be read and nothing be written.", 0},
    Example{"cordon srt -c 'echo hi > new-file'", "So this fails.", 1},
    Example{"cordon srt -s missing.json true", "Settings that are not there: the answer is 1.", 1},
};

inline constexpr std::string_view kSrtText =
    "Runs a command under settings of sandbox-runtime (@anthropic-ai/sandbox-runtime), with its "
    "options, inside a sandbox of Cordon. Started under the name srt it is the same program.\n\n"
    "Every ceiling counts. What cannot be held is refused, with the place; nothing is run with "
    "less. Options end at the first operand; what follows is the command's. No shell is involved "
    "unless -c asks for one.\n\n"
    "Exit status: the command's own; 128+N if signal N ended it; 126 if it cannot be executed, 127 "
    "if it was not found; 1 if it was refused.";

inline constexpr Verb kSrtVerb{"srt",
                               "[--] CMD [ARG]...",
                               "run under sandbox-runtime's settings",
                               kSrtText,
                               kSrtGroups,
                               kSrtOperands,
                               kSrtExamples,
                               1};

}  // namespace cordon::flags
