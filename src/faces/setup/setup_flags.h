// The words and flags of `cordon setup`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"
#include "faces/cli/host_setup.h"

namespace cordon::flags {

inline constexpr std::array kSetupWhat{
    Flag{FlagId::ProjectName,
         "--name",
         "NAME",
         ValueKind::Free,
         Times::Once,
         "of the policy (default: this directory's)",
         "The name of the policy, as in cordon run --policy NAME. Without it the name of the "
         "current directory is used, made plain.",
         {}},
    Flag{FlagId::EnvFile,
         "--env-file",
         "FILE.env",
         ValueKind::File,
         Times::Once,
         "a separate installation, with its variables",
         "Set up an installation of its own, for example for a test agent: configuration and state "
         "go into the directory FILE, the variables that select it into FILE.env, and nothing "
         "is shared with another one. Give the file to an agent host as CORDON_ENV_FILE.",
         {}},
};

inline constexpr std::array kSetupHost{
    Flag{
        FlagId::HostName, "--host", "HOST", ValueKind::Choice, Times::Many,
        "also tell an agent host of cordon mcp",
        "Write what cordon mcp --print-config HOST prints into the configuration of an agent host: "
        "claude, codex, copilot, gemini, vscode or cursor. A file that is there is given the one "
        "server and no other change, or left, and what to add is printed.",
        kHostChoices},
};

inline constexpr std::array kSetupHow{
    Flag{FlagId::Yes,
         "--yes",
         "",
         ValueKind::None,
         Times::Once,
         "write without asking",
         "Write what is missing without asking. Without a terminal this or --dry-run is needed.",
         {}},
    Flag{FlagId::DryRun,
         "--dry-run",
         "",
         ValueKind::None,
         Times::Once,
         "show what would be written",
         "Print what would be written, and write nothing.",
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

inline constexpr std::array kSetupGroups{FlagGroup{"What", kSetupWhat},
                                         FlagGroup{"Agent hosts", kSetupHost},
                                         FlagGroup{"How", kSetupHow}, kHelpGroup};

inline constexpr std::array kSetupExamples{
    Example{"cordon setup --dry-run", "What would be written for the project in this directory.",
            0},
    Example{"cordon setup --yes --name web --host codex",
            "Write a ceiling and the policy web, and let Codex CLI start cordon mcp.", 0},
    Example{"cordon setup --yes --env-file ~/agents/test.env",
            "An installation that shares nothing with the first.", 0},
};

inline constexpr std::string_view kSetupText =
    "Writes a commented ceiling and a policy for the project in the current directory, if there "
    "are none, after asking. A file that is there is never changed: one that differs from what "
    "would be written is named and left. Toolchains and agents on PATH are found by name; nothing "
    "is started. Says what was done and how to undo it.\n\n"
    "The exit status is 0 if everything is in place, 1 if something was declined or is left to do "
    "by hand, 2 for an error; then nothing was changed, or only what is listed.";

inline constexpr Verb kSetupVerb{
    "setup", "", "write a ceiling and a policy", kSetupText, kSetupGroups, {}, kSetupExamples, 2};

}  // namespace cordon::flags
