// The words and flags of `cordon fleet`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"
#include "faces/cli/run_flags.h"

namespace cordon::flags {

inline constexpr std::array kFleetRecords{
    Flag{FlagId::From,
         "--from",
         "URL|FILE",
         ValueKind::File,
         Times::Many,
         "a database of a fleet, or exported records",
         "Where the records are. postgresql://USER@HOST/DATABASE is a database that nodes copy "
         "their logs to with cordon audit ship, without a password; over a network sslmode is "
         "verify-full. Anything else is a file that cordon audit export wrote: of one host, which "
         "is then called as the file is, or of a fleet with --from. It may be given several "
         "times.",
         {}},
    Flag{FlagId::Since,
         "--since",
         "WHEN",
         ValueKind::Free,
         Times::Once,
         "from then on: 2h, 7d, 2026-11-15",
         "Only what began at WHEN or later: a duration back from now (90s, 15m, 2h, 7d), a UTC day "
         "(2026-11-15) or a UTC moment (2026-11-15T08:30:00Z).",
         {}},
    Flag{FlagId::Until,
         "--until",
         "WHEN",
         ValueKind::Free,
         Times::Once,
         "before then",
         "Only what began before WHEN, spelled as for --since. A day counts as a whole.",
         {}},
    Flag{FlagId::NodeName,
         "--node",
         "NAME",
         ValueKind::Free,
         Times::Once,
         "of this node alone",
         "Only what was done on the node that is called NAME.",
         {}},
};

inline constexpr std::array<std::string_view, 1> kEngineChoices{"slurm"};
inline constexpr std::array kFleetTasks{
    Flag{FlagId::Engine, "--engine", "NAME", ValueKind::Choice, Times::Once,
         "what starts the tasks (default: slurm)", "The scheduler that starts the tasks: slurm.",
         kEngineChoices},
    Flag{FlagId::Tasks,
         "--tasks",
         "FILE.jsonl",
         ValueKind::File,
         Times::Once,
         "the tasks, one JSON object a line",
         "The tasks, one on each line: {\"id\": ID, \"argv\": [CMD, ARG...], \"cwd\": DIR, "
         "\"env\": {NAME: VALUE}, \"stdin\": TEXT}. All but argv may be left out, and no other key "
         "is taken. Every line is checked before anything is submitted.",
         {}},
    kPolicy[0],
    Flag{
        FlagId::Out,
        "--out",
        "DIR",
        ValueKind::Directory,
        Times::Once,
        "keep it in DIR, on the shared file system",
        "Keep what the nodes need, and the records that they make, in DIR. It must not be there "
        "yet, has to be on every node at the same path, and no writable grant may hold it. Without "
        "it that is a new directory in fleet/ of the state directory.",
        {}},
    Flag{FlagId::Attempts,
         "--attempts",
         "N",
         ValueKind::Free,
         Times::Once,
         "attempts where the machine fails (default: 3)",
         "How often a task is begun, at most, where the machine failed: the sandbox could not be "
         "built, or the node died. From 1 to 20. A command that fails is never tried again.",
         {}},
    Flag{FlagId::ObjectName,
         "--job-name",
         "NAME",
         ValueKind::Free,
         Times::Once,
         "how the job is called (default: cordon)",
         "What the name of the job begins with. A part that is its own follows.",
         {}},
    Flag{FlagId::Partition,
         "--partition",
         "NAME",
         ValueKind::Free,
         Times::Once,
         "the partition of the job",
         "The partition that the job is submitted to.",
         {}},
};
inline constexpr std::array kFleetFollow{
    Flag{FlagId::Follow,
         "--follow",
         "",
         ValueKind::None,
         Times::Once,
         "go on until every task is over",
         "Go on until the scheduler has nothing left to do: one line on a terminal, elsewhere one "
         "for each change. An interrupt ends this and not the job.",
         {}},
};

inline constexpr std::array kFleetBareGroups{kBareHelpGroup};
inline constexpr std::array kFleetSubmitGroups{FlagGroup{"What", kFleetTasks}, kAnswerGroup,
                                               kHelpGroup};
inline constexpr std::array kFleetStatusGroups{FlagGroup{"How", kFleetFollow}, kAnswerGroup,
                                               kHelpGroup};
inline constexpr std::array kFleetCancelGroups{kAnswerGroup, kHelpGroup};
inline constexpr std::array kFleetCollectGroups{kAnswerGroup, kHelpGroup};
inline constexpr std::array kFleetJobOperands{
    Operand{"JOB", "the id that submit printed, or the directory", ValueKind::Free, {}}};
inline constexpr std::array kFleetReportGroups{FlagGroup{"Which", kFleetRecords}, kAnswerGroup,
                                               kHelpGroup};
inline constexpr std::array kFleetReportOperands{
    Operand{"FILE.html", "the page; only an older one is replaced", ValueKind::File, {}}};

inline constexpr std::array kFleetReportExamples{
    Example{"cordon fleet report --from 'postgresql:///audit?host=/run/postgresql' fleet.html",
            "Of a database on this host; 2 if there is none.", 2},
    Example{"cordon audit export > here.jsonl; cordon fleet report --from here.jsonl here.html",
            "Of the log of this host; 1 if nothing is recorded, which the page says.", 1},
    Example{"cordon fleet report --json --since 7d --from node1.jsonl --from node2.jsonl",
            "Of two hosts, for machines; 2 if a file is missing.", 2},
};

inline constexpr std::array kFleetSubmitExamples{
    Example{"cordon fleet submit --policy strict --tasks tasks.jsonl",
            "On a login node of a cluster; 2 where there is none, or no list.", 2},
    Example{
        "cordon fleet submit --engine slurm --policy build --out /shared/ann/run7 --tasks t.jsonl",
        "With a directory that every node sees; 2 if it cannot be made.", 2},
    Example{"cordon fleet submit --json --attempts 5 --partition cpu --tasks t.jsonl",
            "For machines: the job and its directory.", 2},
};
inline constexpr std::array kFleetStatusExamples{
    Example{"cordon fleet status 17", "How far job 17 is; 2 if nobody submitted it here.", 2},
    Example{"cordon fleet status --follow 17", "Until every task is over.", 2},
    Example{"cordon fleet status --json /shared/ann/run7", "By its directory, for machines.", 2},
};
inline constexpr std::array kFleetCollectExamples{
    Example{"cordon fleet collect 17 > records.jsonl",
            "The records; 1 if some are missing, 2 if nobody submitted it here.", 2},
    Example{"cordon fleet collect --json 17", "The same: the answer is JSON either way.", 2},
    Example{"cordon fleet collect /shared/ann/run7", "By its directory.", 2},
};
inline constexpr std::array kFleetCancelExamples{
    Example{"cordon fleet cancel 17", "Ends job 17; 2 if nobody submitted it here.", 2},
    Example{"cordon fleet cancel --json 17", "With what is left, as JSON.", 2},
    Example{"cordon fleet cancel /shared/ann/run7", "By its directory.", 2},
};

inline constexpr std::string_view kFleetText =
    "Many hosts: a list of tasks for a scheduler that is there already, each task in a sandbox of "
    "its own, and one page of what all hosts did. Cordon schedules nothing by itself.";

inline constexpr std::string_view kFleetSubmitText =
    "Submits a list of tasks to Slurm as one array job, as the person who types it: sbatch is "
    "started once, when every line was checked and copied. Each task is one cordon run, under this "
    "policy and the ceilings of its node. A task whose command ran, or was refused, is over; one "
    "that its machine could not begin is started again. Prints the id of the job.\n\n"
    "The policy, the list and the records lie in one directory that every node has to see. A task "
    "may set variables that the policy passes on, and none besides. The exit status is 0 if it was "
    "submitted, else 2, and then nothing was.";
inline constexpr std::string_view kFleetStatusText =
    "Tells how many tasks have their record, run, wait, or ended without one. The exit status is 0 "
    "if every task has its record, 1 if not, 2 for an error.";
inline constexpr std::string_view kFleetCollectText =
    "Prints the record of each task that is over, as one JSON object a line, in the order of the "
    "list: its id, its attempts and its report. A record never changes, so it may be collected "
    "again at any time. Of a task that the scheduler ended the record is made now. What is missing "
    "is told on standard error. The exit status is 0 if nothing is, 1 if something is, 2 for an "
    "error. The answer is JSON lines with --json and without.";
inline constexpr std::string_view kFleetCancelText =
    "Cancels what of a job is not over, waits until nothing of it runs, and makes the records of "
    "what was ended. The exit status is 0 if it was cancelled, 1 if every task was over, 2 for an "
    "error.";

inline constexpr std::string_view kFleetReportText =
    "Writes one page for a browser: how much was run, denied, refused and ended by a limit, over "
    "time, by node, by verb or tool, and by agent; what was denied, by which rule; and which hosts "
    "were reached. It loads nothing and runs nothing, and can be printed. Long tables show what "
    "comes first and say how much is left out. --json prints the same sums, with FILE.html or "
    "without.\n\n"
    "A line of a FILE that is no record is an error with its number, and no page is written. What "
    "a database has that is no record is counted and told on the page: cordon audit verify --from "
    "says more. The exit status is 0 if there is something to show, 1 if nothing is recorded, "
    "which the page says, 2 for an error.";

inline constexpr std::array kFleetVerbs{
    Verb{"fleet",
         "submit|status|collect|cancel|report [ARG]...",
         "run tasks on many hosts; see what they did",
         kFleetText,
         kFleetBareGroups,
         {},
         kFleetSubmitExamples,
         2},
    Verb{"fleet submit",
         "",
         "submit a list of tasks to a scheduler",
         kFleetSubmitText,
         kFleetSubmitGroups,
         {},
         kFleetSubmitExamples,
         2},
    Verb{"fleet status", "JOB", "tell how far a job is", kFleetStatusText, kFleetStatusGroups,
         kFleetJobOperands, kFleetStatusExamples, 2},
    Verb{"fleet collect", "JOB", "print the records of a job", kFleetCollectText,
         kFleetCollectGroups, kFleetJobOperands, kFleetCollectExamples, 2},
    Verb{"fleet cancel", "JOB", "cancel a job", kFleetCancelText, kFleetCancelGroups,
         kFleetJobOperands, kFleetCancelExamples, 2},
    Verb{"fleet report", "[FILE.html]", "write a page about a fleet", kFleetReportText,
         kFleetReportGroups, kFleetReportOperands, kFleetReportExamples, 2},
};

}  // namespace cordon::flags
