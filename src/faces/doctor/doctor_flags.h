// The words and flags of `cordon doctor`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"
#include "faces/cli/host_setup.h"

namespace cordon::flags {

inline constexpr std::array kDoctor{
    Flag{FlagId::HostName, "--host", "HOST", ValueKind::Choice, Times::Once,
         "whether an agent host may act outside",
         "Instead of the checks, read the settings of this agent host and look at its running "
         "processes: whether its own shell and file tools are switched off or contained, and the "
         "command line that leaves it nothing else. The hosts are those of cordon mcp "
         "--print-config. The exit status is 0 only if nothing of its own acts outside.",
         kPrintedHostChoices},
    Flag{FlagId::KubeNode,
         "--kube",
         "",
         ValueKind::None,
         Times::Once,
         "whether this node starts pods through Cordon",
         "Instead of the checks, read containerd's configuration and what it names, the node's "
         "ceiling and its policies: whether pods of a RuntimeClass are started through cordon oci. "
         "Nothing is started and no cluster is asked; what a node cannot tell is named.",
         {}},
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

inline constexpr std::array kDoctorGroups{FlagGroup{"Answer", kDoctor}, kHelpGroup};

inline constexpr std::array kDoctorExamples{
    Example{"cordon doctor", "Every check with its verdict.", 0},
    Example{"cordon doctor --fix-hints", "Only what to change.", 0},
    Example{"cordon doctor --json", "The same for machines.", 0},
};

inline constexpr std::string_view kDoctorText =
    "Tries what a run needs by doing it: namespaces, mounts, Landlock, seccomp, cgroups; then runs "
    "a set of probes inside a real sandbox. A check that does not pass says what to change on this "
    "distribution. The exit status is 1 if anything required fails.";

inline constexpr Verb kDoctorVerb{"doctor",
                                  "",
                                  "what this host can enforce, and what to change",
                                  kDoctorText,
                                  kDoctorGroups,
                                  {},
                                  kDoctorExamples,
                                  2};

}  // namespace cordon::flags
