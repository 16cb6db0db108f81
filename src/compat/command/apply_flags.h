// The words and flags of `cordon apply`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"

namespace cordon::flags {

inline constexpr std::array<std::string_view, 3> kApplyProfiles{"default", "minimal-dynamic",
                                                                "development"};

inline constexpr std::array kApplyRun{
    Flag{FlagId::PolicyFile,
         "--policy-file",
         "FILE",
         ValueKind::File,
         Times::Once,
         "the policy (default: descriptor 3)",
         "The file with the policy: yours, with the mode 0600, no symlink, at most 64 KiB. Without "
         "this option the policy is read from descriptor 3, to its end.",
         {}},
    Flag{FlagId::StatusFd,
         "--status-fd",
         "N",
         ValueKind::Free,
         Times::Once,
         "tell a refusal to descriptor N as JSON",
         "Tell why the command was not started as one line of JSON on descriptor N. No line, and "
         "its end, means that it was. Once the filter is on, what fails can be told only if the "
         "policy lists write; without it the filter kills. The command does not have the "
         "descriptor.",
         {}},
    Flag{FlagId::DryRun,
         "--dry-run",
         "",
         ValueKind::None,
         Times::Once,
         "print what would be applied, run nothing",
         "Print the rights of every rule, the calls, which of them have another name here, are "
         "answered ENOSYS or have no effect, as JSON. Nothing is applied and nothing is run.",
         {}},
};

inline constexpr std::array kApplyPrint{
    Flag{FlagId::PrintPolicy, "--print-policy", "PROFILE", ValueKind::Choice, Times::Once,
         "print a policy to start from",
         "Print a policy. default: no file can be opened. minimal-dynamic: what a dynamic program "
         "needs to start. development: the current directory and the directory for temporary files "
         "are writable, the system and toolchains can be used, of the home only what holds no "
         "credential can be read, no network.",
         kApplyProfiles},
    Flag{FlagId::Read,
         "--read",
         "PATH",
         ValueKind::Path,
         Times::Many,
         "development: may also be read",
         "With --print-policy development: a path that may be read, too.",
         {}},
    Flag{FlagId::Write,
         "--write",
         "PATH",
         ValueKind::Path,
         Times::Many,
         "development: may also be written",
         "With --print-policy development: a path that may be written, too.",
         {}},
    Flag{FlagId::ExecutePath,
         "--execute",
         "PATH",
         ValueKind::Path,
         Times::Many,
         "development: may also be executed",
         "With --print-policy development: a path whose programs may be executed, too.",
         {}},
    Flag{FlagId::Allow,
         "--allow",
         "DOMAIN",
         ValueKind::Free,
         Times::Many,
         "development: a domain for the outer layer",
         "With --print-policy development: a domain that the outer layer is to let through. A "
         "policy with domains is applied only inside one.",
         {}},
    Flag{FlagId::PrintSettings,
         "--print-settings",
         "",
         ValueKind::None,
         Times::Once,
         "print the outer layer of --policy-file",
         "Print settings of sandbox-runtime that hold what cordon apply cannot: credential stores, "
         "denies, the network. They leave everything else readable; the policy is to be applied "
         "inside: cordon srt -s SETTINGS cordon-apply --policy-file FILE -- CMD.",
         {}},
};

inline constexpr std::array kApplyGroups{FlagGroup{"The run", kApplyRun},
                                         FlagGroup{"Policies", kApplyPrint}, kBareHelpGroup};

inline constexpr std::array kApplyOperands{Operand{
    "CMD [ARG]...", "the command and its arguments, passed on as they are", ValueKind::File, {}}};

inline constexpr std::array kApplyExamples{
    Example{"cordon apply --print-policy development > policy.json && chmod 600 policy.json && "
            "cordon apply --policy-file policy.json -- ls",
            "A policy for this directory, and a command under it.", 0},
    Example{"cordon apply --policy-file policy.json --dry-run -- ls", "What that policy comes to.",
            0},
    Example{"cordon apply --policy-file missing.json -- ls",
            "A policy that is not there: the answer is 75.", 75},
};

inline constexpr std::string_view kApplyText =
    "Applies Landlock, a seccomp filter and an empty set of capabilities to itself, as a policy of "
    "SafeClaw says, and becomes CMD. Started under the name safeclaw-sandbox-helper it is the same "
    "program, cordon-apply, which needs nothing else to run.\n\n"
    "It is an inner layer: there are no namespaces, no limits and no private directories. Landlock "
    "does not hide that a file exists, nor keep its owner from changing its mode, owner and times. "
    "For a command that is to be contained use cordon run.\n\n"
    "The words \"--\" must stand before CMD. A deny inside a grant, which Landlock cannot hold, is "
    "refused. A call that is not listed kills the process.\n\n"
    "Exit status: the command's own; 1 command line; 70 policy; 71 Landlock; 72 seccomp, or a name "
    "that is no system call; 73 capabilities; 74 CMD cannot be executed; 75 the policy file is not "
    "yours alone, or no_new_privs; 76 started setuid or setgid.";

inline constexpr Verb kApplyVerb{"apply",
                                 "-- CMD [ARG]...",
                                 "apply SafeClaw's policy, then execute",
                                 kApplyText,
                                 kApplyGroups,
                                 kApplyOperands,
                                 kApplyExamples,
                                 1};

}  // namespace cordon::flags
