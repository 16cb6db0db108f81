// The flags of `cordon oci`: those of the node's operator, and those that engines give a runtime
// before its command.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"

namespace cordon::flags {

inline constexpr std::array<std::string_view, 2> kLogFormats{"text", "json"};

inline constexpr std::array kOciNode{
    Flag{FlagId::RuntimeProgram,
         "--runtime",
         "PROGRAM",
         ValueKind::File,
         Times::Once,
         "the real runtime (default: runc, then crun)",
         "The real runtime: a name, which is looked for where systems install programs and never "
         "on PATH, or a whole path. Nobody but root and the caller may be able to write it.",
         {}},
    Flag{FlagId::Ceiling,
         "--ceiling",
         "FILE",
         ValueKind::File,
         Times::Many,
         "bound containers by this file too",
         "Bound every container by this file, beside every ceiling the host has. At least one "
         "ceiling has to be there.",
         {}},
    Flag{FlagId::PolicyDirectory,
         "--policies",
         "DIR",
         ValueKind::Directory,
         Times::Once,
         "policies by name (default: /etc/cordon/policies)",
         "The directory in which the annotation cordon.dev/policy=NAME finds NAME.toml.",
         {}},
    Flag{FlagId::EngineFiles,
         "--engine-files",
         "DIR",
         ValueKind::Directory,
         Times::Many,
         "what lies below is the engine's own",
         "A directory that holds what the engine makes for containers, such as their roots, their "
         "/etc/hosts and their volumes. What lies below it needs no grant, so that nothing else "
         "may lie there.",
         {}},
    Flag{FlagId::HookProgram,
         "--hook",
         "PROGRAM",
         ValueKind::File,
         Times::Many,
         "let an engine run this program outside",
         "Permit hooks that run this program. It runs outside of the container, as the engine.",
         {}},
    Flag{FlagId::StateDirectory,
         "--state",
         "DIR",
         ValueKind::Directory,
         Times::Once,
         "where the changed copies are kept",
         "Where the changed copies of config.json are kept while their containers are there: "
         "/run/cordon/oci for root, else oci in Cordon's runtime directory.",
         {}},
};

inline constexpr std::array kOciPassed{
    Flag{FlagId::RuntimeRoot,
         "--root",
         "DIR",
         ValueKind::Directory,
         Times::Once,
         "where the runtime keeps its state",
         "Where the runtime keeps its state. With the id it names a container.",
         {}},
    Flag{FlagId::LogFile,
         "--log",
         "FILE",
         ValueKind::File,
         Times::Once,
         "where errors are written too",
         "The runtime writes errors there. So does Cordon, if it refuses.",
         {}},
    Flag{FlagId::LogFormat, "--log-format", "FORM", ValueKind::Choice, Times::Once, "text or json",
         "How they are written there.", kLogFormats},
    Flag{FlagId::Debug,
         "--debug",
         "",
         ValueKind::None,
         Times::Once,
         "the runtime says more",
         "The runtime says more in its log.",
         {}},
    Flag{FlagId::SystemdCgroup,
         "--systemd-cgroup",
         "",
         ValueKind::None,
         Times::Once,
         "control groups by systemd",
         "The runtime lets systemd make control groups.",
         {}},
    Flag{FlagId::CgroupManager,
         "--cgroup-manager",
         "NAME",
         ValueKind::Free,
         Times::Once,
         "of crun: who makes control groups",
         "Of crun: who makes control groups. With disabled nobody does, and limits that need one "
         "refuse the container.",
         {}},
    Flag{FlagId::Rootless,
         "--rootless",
         "WHEN",
         ValueKind::Free,
         Times::Once,
         "of runc: whether it is root's",
         "Of runc: true, false or auto.",
         {}},
    Flag{FlagId::Version,
         "--version",
         "",
         ValueKind::None,
         Times::Once,
         "the version of the runtime",
         "The version of the real runtime, which is what engines ask for.",
         {}},
    Flag{FlagId::Version,
         "-v",
         "",
         ValueKind::None,
         Times::Once,
         "the same",
         "The same as --version.",
         {}},
};

inline constexpr std::array kOciGroups{FlagGroup{"The node", kOciNode},
                                       FlagGroup{"The runtime", kOciPassed}, kHelpGroup};

inline constexpr std::array kOciOperands{
    Operand{"COMMAND", "create, start, kill, delete, exec and so on", ValueKind::Free, {}},
    Operand{"[ARG]...", "the options and operands of that command", ValueKind::Free, {}}};

inline constexpr std::array kOciExamples{
    Example{"cordon oci --ceiling missing.toml create --bundle . one",
            "A ceiling that is not there refuses everything.", 1},
    Example{"cordon oci checkpoint one", "What would start a container unjudged is refused.", 1},
    Example{"cordon oci frobnicate one", "So is what nobody knows.", 1},
};

inline constexpr std::string_view kOciText =
    "Cordon in the seat of an OCI runtime: an engine (containerd, podman, and Kubernetes through "
    "them) calls it as it would call runc. create, run, exec and update are judged against the "
    "node's ceilings and against the policy that the annotation cordon.dev/policy names, which can "
    "only narrow. What exceeds them is refused, with the rule and what would help, on standard "
    "error and in the runtime's log. What is started is recorded before, gets no capabilities, "
    "Cordon's filter and the limits of the policy, and is carried out by the real runtime from a "
    "changed copy of the engine's document. docs/oci.md has the whole table.\n\n"
    "start, state, kill, list, ps, pause, resume, events, features and spec are passed on as they "
    "are; checkpoint and restore are refused, and so is every command and every option that is not "
    "known.\n\n"
    "Started under the name cordon-oci it is the same program, for engines that take the path of a "
    "runtime and no arguments.\n\n"
    "Exit status: the runtime's own; 1 if it was refused.";

inline constexpr Verb kOciVerb{"oci",
                               "COMMAND [ARG]...",
                               "stand in an OCI runtime's seat",
                               kOciText,
                               kOciGroups,
                               kOciOperands,
                               kOciExamples,
                               1};

}  // namespace cordon::flags
