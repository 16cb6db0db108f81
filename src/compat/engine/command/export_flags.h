// The words and flags of `cordon export`, which takes the policy options of run.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"
#include "faces/cli/run_flags.h"

namespace cordon::flags {

inline constexpr Flag kExportOut{
    FlagId::Out,
    "--out",
    "DIR",
    ValueKind::Directory,
    Times::Once,
    "write the export into DIR, which is not there yet",
    "Write everything into this directory, with the account as losses.json. It must not be there "
    "yet, and no writable grant may hold it: the command could rewrite its own bounds. Without it "
    "the document alone is printed.",
    {}};
inline constexpr Flag kExportDrop{
    FlagId::Drop,
    "--drop",
    "KEY,...",
    ValueKind::Free,
    Times::Many,
    "restrictions to give up, by name",
    "Restrictions of the policy that the engine cannot hold and that are to be given up. Without "
    "it they stop the export, and the error names them. What a ceiling asks for, and a layer that "
    "is required, cannot be given up.",
    {}};
inline constexpr std::array<std::string_view, 3> kObjectKinds{"job", "pod", "sandbox"};
inline constexpr Flag kObjectName{FlagId::ObjectName,
                                  "--job-name",
                                  "NAME",
                                  ValueKind::Free,
                                  Times::Once,
                                  "the name of what is made (default: cordon)",
                                  "The name of the objects, or of the job.",
                                  {}};
inline constexpr std::array kExportOci{kExportOut, kExportDrop};
inline constexpr std::array kExportKube{
    Flag{FlagId::Image,
         "--image",
         "IMAGE@DIGEST",
         ValueKind::Free,
         Times::Once,
         "the image, by digest",
         "The image that the command runs in, as NAME@sha256:DIGEST. A tag may mean another image "
         "tomorrow, so that only "
         "a digest is taken.",
         {}},
    Flag{FlagId::ObjectKind, "--kind", "job|pod|sandbox", ValueKind::Choice, Times::Once,
         "what is made (default: job)",
         "A Job, a Pod alone, or a Sandbox (agents.x-k8s.io/v1beta1), of which the controller of "
         "agent-sandbox makes a pod.",
         kObjectKinds},
    kObjectName,
    Flag{FlagId::InsideProgram,
         "--inside",
         "PATH",
         ValueKind::Free,
         Times::Once,
         "where the image has cordon-inside",
         "The image has cordon-inside of this release at PATH. It puts Landlock, Cordon's own "
         "filter and the limits of a process on the command.",
         {}},
    Flag{FlagId::RuntimeClass,
         "--runtime-class",
         "NAME",
         ValueKind::Free,
         Times::Once,
         "the RuntimeClass of the pod",
         "The RuntimeClass of the pod, such as gvisor, or that of nodes with Cordon in the seat of "
         "their runtime.",
         {}},
    Flag{FlagId::NodePolicy,
         "--node-policy",
         "NAME",
         ValueKind::Free,
         Times::Once,
         "the policy that cordon oci is to apply",
         "Name a policy of the nodes in the annotation cordon.dev/policy: where cordon oci starts "
         "the pod, it narrows it further. Without it the annotation has the hash of what was "
         "exported, and the node's ceiling counts alone.",
         {}},
    kExportOut,
    kExportDrop};
inline constexpr std::array kExportSlurm{kObjectName,
                                         Flag{FlagId::Partition,
                                              "--partition",
                                              "NAME",
                                              ValueKind::Free,
                                              Times::Once,
                                              "the partition of the job",
                                              "The partition that the job is submitted to.",
                                              {}},
                                         kExportOut};

inline constexpr std::array kExportBareGroups{kBareHelpGroup};
inline constexpr std::array kExportOciGroups{FlagGroup{"The export", kExportOci}, kPolicyGroup,
                                             kLimitGroup, kAnswerGroup, kHelpGroup};
inline constexpr std::array kExportKubeGroups{FlagGroup{"The export", kExportKube}, kPolicyGroup,
                                              kLimitGroup, kAnswerGroup, kHelpGroup};
inline constexpr std::array kExportSlurmGroups{FlagGroup{"The export", kExportSlurm}, kPolicyGroup,
                                               kLimitGroup, kAnswerGroup, kHelpGroup};
inline constexpr std::array kExportOperands{Operand{
    "CMD [ARG]...", "the command and its arguments, passed on as they are", ValueKind::File, {}}};

inline constexpr std::string_view kExportText =
    "Writes what another engine starts, from the same plan as cordon run: oci a bundle for runc or "
    "crun, kube objects of Kubernetes, slurm a batch script. Each accounts for every part of the "
    "policy: carried, weakened, or impossible. A restriction that the engine cannot hold stops the "
    "export unless --drop names it.";
inline constexpr std::string_view kExportOciText =
    "Writes an OCI bundle: config.json, an empty root with the places to mount on, and the plan "
    "that cordon-inside carries out as the container's first process. It compares every grant with "
    "what was judged, puts Landlock and the filter on the command, and holds the wall clock. Start "
    "it with runc run -b DIR NAME or crun run -b DIR NAME, as the user who exported it.\n\n"
    "A bundle is for this host and for the files that are there now: export it again when a "
    "granted "
    "directory or a protected file was replaced. The exit status of the container is that of the "
    "command, 124 for the wall clock, 125 if it was refused.";
inline constexpr std::string_view kExportKubeText =
    "Prints a Job, a Pod or a Sandbox that the Pod Security standard \"restricted\" admits, and a "
    "NetworkPolicy that denies all but the addresses of the policy. A pod has an image instead of "
    "the host's files: what a policy lets be written begins empty there.\n\n"
    "A pod has no field for Landlock, which every preset requires: the image needs cordon-inside, "
    "and --inside says where.";
inline constexpr std::string_view kExportSlurmText =
    "Writes a batch script that starts cordon run on a node, and the whole policy beside it. The "
    "scheduler is asked for the same limits. DIR has to be at the same path on the node, as has "
    "everything that is granted.";
inline constexpr std::array kExportExamples{
    Example{"cordon export oci --drop limits.output_total --policy strict -- true",
            "The configuration of a bundle.", 0},
    Example{"cordon export slurm --policy strict -- true", "A batch script.", 0},
    Example{"cordon export oci --policy strict -- true",
            "What a bundle cannot hold is named, and the answer is 2.", 2},
};
inline constexpr std::array kExportOciExamples{
    Example{"cordon export oci --drop limits --policy strict -- true",
            "Without any limit of the policy.", 0},
    Example{"cordon export oci --out \"$HOME/bundle\" --drop limits -- true",
            "A bundle for crun run -b ~/bundle NAME.", 0},
    Example{"cordon export oci --json --drop limits --policy strict -- true",
            "With the account, as JSON.", 0},
};
inline constexpr std::array kExportKubeExamples{
    Example{"cordon export kube --image "
            "example.com/tool@sha256:"
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 --inside "
            "/usr/libexec/cordon/cordon-inside --drop limits --policy strict -- true",
            "A Job without the limits of the policy.", 0},
    Example{"cordon export kube --image example.com/tool:latest -- true",
            "A tag is not taken: the answer is 2.", 2},
    Example{"cordon export kube --kind pod -- true", "There is no image: the answer is 2.", 2},
};
inline constexpr std::array kExportSlurmExamples{
    Example{"cordon export slurm --policy strict -- true", "A batch script.", 0},
    Example{"cordon export slurm --out \"$HOME/job\" -- make test",
            "Submit it with sbatch ~/job/job.sh.", 0},
    Example{"cordon export slurm --json --timeout 5m -- make test", "With the account, as JSON.",
            0},
};

inline constexpr std::array kExportVerbs{
    Verb{"export",
         "oci|kube|slurm [OPTION]... [--] CMD [ARG]...",
         "write a policy for an engine that starts it",
         kExportText,
         kExportBareGroups,
         {},
         kExportExamples,
         2},
    Verb{"export oci", "[--] CMD [ARG]...", "write an OCI bundle", kExportOciText, kExportOciGroups,
         kExportOperands, kExportOciExamples, 2},
    Verb{"export kube", "[--] CMD [ARG]...", "write objects of Kubernetes", kExportKubeText,
         kExportKubeGroups, kExportOperands, kExportKubeExamples, 2},
    Verb{"export slurm", "[--] CMD [ARG]...", "write a batch script of Slurm", kExportSlurmText,
         kExportSlurmGroups, kExportOperands, kExportSlurmExamples, 2},
};

}  // namespace cordon::flags
