// The words and flags of `cordon mxc`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"
#include "faces/cli/run_flags.h"

namespace cordon::flags {

inline constexpr std::array kMxcRequest{
    Flag{FlagId::ConfigBase64,
         "--config-base64",
         "TEXT",
         ValueKind::Free,
         Times::Once,
         "the request itself, in base64",
         "The request itself, in base64. It counts before --config and the operand.",
         {}},
    Flag{FlagId::Config,
         "--config",
         "FILE",
         ValueKind::File,
         Times::Once,
         "the file with the request; - is standard input",
         "The file with the request. It counts before the operand; - is standard input.",
         {}},
    Flag{FlagId::DryRun,
         "--dry-run",
         "",
         ValueKind::None,
         Times::Once,
         "judge the request, run nothing",
         "Judge the request and run nothing. The exit status is 0 if it would be run.",
         {}},
    Flag{FlagId::AvailableBackends,
         "--available-backends",
         "",
         ValueKind::None,
         Times::Once,
         "print what this host can enforce, as JSON",
         "Try what this host can enforce and print it as JSON.",
         {}},
    kBackend,
};

inline constexpr std::array kMxcTalk{
    Flag{FlagId::Debug,
         "--debug",
         "",
         ValueKind::None,
         Times::Once,
         "say on standard error what is done",
         "Say on standard error what is done, and what of the request has no effect.",
         {}},
    Flag{FlagId::LogFile,
         "--log-file",
         "FILE",
         ValueKind::File,
         Times::Once,
         "append the same to a file",
         "Append what --debug says to a file. A file that cannot be opened is a warning.",
         {}},
    Flag{FlagId::Experimental,
         "--experimental",
         "",
         ValueKind::None,
         Times::Once,
         "accepted; changes nothing",
         "Accepted for MXC's sake. It changes nothing.",
         {}},
    Flag{FlagId::TestingFeatures,
         "--allow-testing-features",
         "",
         ValueKind::None,
         Times::Once,
         "accepted; changes nothing",
         "Accepted for MXC's sake. It changes nothing.",
         {}},
};

inline constexpr std::array kMxcGroups{FlagGroup{"The request", kMxcRequest},
                                       FlagGroup{"Talk", kMxcTalk}, kHelpGroup};

inline constexpr std::array kMxcOperands{
    Operand{"FILE", "the file with the request; - is standard input", ValueKind::File, {}}};

inline constexpr std::array kMxcExamples{
    Example{"cordon mxc --config-base64 eyJwcm9jZXNzIjp7ImNvbW1hbmRMaW5lIjoiZWNobyBoaSJ9fQ==",
            "Run the request {\"process\":{\"commandLine\":\"echo hi\"}}.", 0},
    Example{"cordon mxc --available-backends", "What this host can enforce.", 0},
    Example{"cordon mxc missing.json", "A file that is not there: the answer is 1.", 1},
};

inline constexpr std::string_view kMxcText =
    "Runs a request of MXC (Microsoft eXecution Containers), versions 0.4 to 1.1, inside a sandbox "
    "of Cordon, with the options, exit statuses and error lines of MXC's own executor. Started "
    "under the name lxc-exec it is the same program, so that the SDK finds it through "
    "MXC_BIN_DIR.\n\n"
    "Every ceiling counts. What cannot be held is refused; nothing is run with less.\n\n"
    "Exit status: the command's own; 128+N if signal N ended it; 1 for a request that cannot be "
    "read; 255 for one that cannot be run and at the time limit; 2 for a bad command line. Errors "
    "end with one line of JSON: {\"error\":{\"code\":...,\"message\":...}}.";

inline constexpr Verb kMxcVerb{"mxc",      "[FILE]",     "run a request of MXC", kMxcText,
                               kMxcGroups, kMxcOperands, kMxcExamples,           2};

}  // namespace cordon::flags
