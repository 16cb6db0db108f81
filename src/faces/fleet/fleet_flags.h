// The words and flags of `cordon fleet`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"

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

inline constexpr std::array kFleetBareGroups{kBareHelpGroup};
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

inline constexpr std::string_view kFleetText =
    "What many hosts did, on one page. Cordon schedules nothing: each host has its own audit log, "
    "and cordon audit ship copies them to one database.";

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
         "report [ARG]...",
         "what many hosts did, on one page",
         kFleetText,
         kFleetBareGroups,
         {},
         kFleetReportExamples,
         2},
    Verb{"fleet report", "[FILE.html]", "write a page about a fleet", kFleetReportText,
         kFleetReportGroups, kFleetReportOperands, kFleetReportExamples, 2},
};

}  // namespace cordon::flags
