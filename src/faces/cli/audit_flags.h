// The words and flags of `cordon audit`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"

namespace cordon::flags {

inline constexpr std::array<std::string_view, 11> kOutcomeChoices{
    "pending", "success",   "failure", "exit",    "signal", "limit",
    "timeout", "cancelled", "denied",  "refused", "crash"};
inline constexpr std::array<std::string_view, 4> kExportChoices{"jsonl", "csv", "ocsf", "html"};

inline constexpr std::array kAuditFilter{
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
    Flag{FlagId::OutcomeIs, "--outcome", "WORD", ValueKind::Choice, Times::Once,
         "by outcome or reason",
         "Only this outcome (pending, success, failure) or reason of a failure (exit, signal, "
         "limit, timeout, cancelled, denied, refused, crash).",
         kOutcomeChoices},
    Flag{FlagId::Denied,
         "--denied",
         "",
         ValueKind::None,
         Times::Once,
         "with something denied",
         "Only actions that were refused as a whole, or inside which something was denied.",
         {}},
    Flag{FlagId::Tool,
         "--tool",
         "NAME",
         ValueKind::Free,
         Times::Once,
         "by tool, or action: run",
         "Only what this tool asked for, or this action where no tool did.",
         {}},
    Flag{FlagId::Agent,
         "--agent",
         "NAME",
         ValueKind::Free,
         Times::Once,
         "by sessions that were started for NAME",
         "Only what happened in sessions that were started with --agent NAME.",
         {}},
    Flag{FlagId::Session,
         "--session",
         "",
         ValueKind::None,
         Times::Once,
         "in a sandbox that lasts",
         "Only what happened in sessions (cordon session, cordon mcp --session): their starts and "
         "their commands.",
         {}},
    Flag{FlagId::SessionId,
         "--session-id",
         "ID",
         ValueKind::Free,
         Times::Once,
         "in the session with this id",
         "Only the start and the commands of the session with this id.",
         {}},
    Flag{FlagId::Human,
         "--human",
         "",
         ValueKind::None,
         Times::Once,
         "by no agent's session",
         "Only what happened outside the sessions that were started for an agent.",
         {}},
    Flag{FlagId::PathLabel,
         "--path",
         "LABEL|PATH",
         ValueKind::Path,
         Times::Once,
         "that worked on or were granted this",
         "Only actions on this path, or that were granted it: a label as the log shows it "
         "(@home/#5d41402abc4b2a76), or a path, whose label is computed with the key of this "
         "installation.",
         {}},
    Flag{FlagId::Limit,
         "--limit",
         "N",
         ValueKind::Free,
         Times::Once,
         "at most N (list: 20)",
         "At most N actions, the newest. `list` shows 20 without it, and all of them with --json.",
         {}},
};

inline constexpr std::array kAuditOwn{
    Flag{FlagId::OwnRuns,
         "--own",
         "",
         ValueKind::None,
         Times::Once,
         "with the runs of Cordon itself",
         "With the runs that Cordon starts for itself: the checks of cordon doctor, and git on the "
         "commits of a stage. They are recorded as every run is, and a list for people leaves them "
         "out and says how many they are, unless --tool doctor or --tool git asks for them. --json "
         "and --from have them always.",
         {}},
};

inline constexpr std::array kAuditFleet{
    Flag{FlagId::From,
         "--from",
         "URL",
         ValueKind::Free,
         Times::Once,
         "ask the logs of a fleet in PostgreSQL",
         "Ask what nodes have copied to this database with cordon audit ship, in place of the log "
         "of this host: postgresql://USER@HOST/DATABASE, without a password. Over a network "
         "sslmode is verify-full.",
         {}},
    Flag{FlagId::NodeName,
         "--node",
         "NAME",
         ValueKind::Free,
         Times::Once,
         "with --from: of this node alone",
         "With --from: only of the node that is enrolled under NAME.",
         {}},
};

inline constexpr std::array kAuditShip{
    Flag{FlagId::To,
         "--to",
         "URL",
         ValueKind::Free,
         Times::Once,
         "the database, or the OTLP receiver",
         "A database, as PostgreSQL's own programs take it: postgresql://USER@HOST/DATABASE. It "
         "holds no password: libpq reads one from ~/.pgpass or PGPASSFILE, and a client "
         "certificate from sslcert and sslkey. Over a network sslmode is verify-full; sslrootcert "
         "names the authority. Or a receiver of the OpenTelemetry protocol (OTLP), with JSON over "
         "HTTP: otlp+https://HOST:PORT, with a path if it is another one than /v1/logs. "
         "otlp+http:// is for receivers of this host.",
         {}},
    Flag{FlagId::Follow,
         "--follow",
         "",
         ValueKind::None,
         Times::Once,
         "go on with what is recorded later",
         "Go on and copy records as they are written, until INT or TERM: for a service.",
         {}},
    Flag{FlagId::Once,
         "--once",
         "",
         ValueKind::None,
         Times::Once,
         "do not wait for a destination that is away",
         "If the database or the receiver is away, say so and end with status 2 in place of "
         "waiting for it: for a timer, which tries again by itself.",
         {}},
    Flag{FlagId::Tables,
         "--schema",
         "",
         ValueKind::None,
         Times::Once,
         "print the SQL of the tables",
         "Print what an administrator of the database runs once: tables, roles and their "
         "privileges.",
         {}},
    Flag{FlagId::Enroll,
         "--enroll",
         "",
         ValueKind::None,
         Times::Once,
         "print the SQL that enrols this log",
         "Print what an administrator of the database runs for this log: a role that may add "
         "records of this node alone, and the public key that its checkpoints are signed with.",
         {}},
    Flag{FlagId::NodeName,
         "--node",
         "NAME",
         ValueKind::Free,
         Times::Once,
         "with --enroll or OTLP: under this name",
         "With --enroll, or to an OTLP receiver: the name of the node; without it that of the "
         "host. Each log is a node: those of two accounts of one host have two names.",
         {}},
    Flag{
        FlagId::HeadersFile,
        "--headers-file",
        "FILE",
        ValueKind::File,
        Times::Once,
        "OTLP: headers, one in each line",
        "Send these headers to the OTLP receiver, mostly a token: a line NAME: VALUE for each. The "
        "file is yours, and nobody else can read it. Without it they come from "
        "OTEL_EXPORTER_OTLP_LOGS_HEADERS or OTEL_EXPORTER_OTLP_HEADERS, as NAME=VALUE,NAME=VALUE.",
        {}},
    Flag{FlagId::WithoutTls,
         "--without-tls",
         "",
         ValueKind::None,
         Times::Once,
         "OTLP: readable on the way",
         "Let otlp+http:// lead to another host. Whoever is on the way can read the records, and "
         "answer in place of the receiver that they were taken. Headers are never sent so.",
         {}},
};

inline constexpr std::array kAuditTail{
    Flag{FlagId::Follow,
         "-f",
         "",
         ValueKind::None,
         Times::Once,
         "wait for more",
         "Go on and print records as they are written.",
         {}},
    Flag{FlagId::Limit,
         "--limit",
         "N",
         ValueKind::Free,
         Times::Once,
         "the last N records (default: 10)",
         "Begin with the last N records.",
         {}},
};

inline constexpr std::array kAuditVerify{
    Flag{FlagId::Checkpoint,
         "--checkpoint",
         "",
         ValueKind::None,
         Times::Once,
         "sign the end of a log that holds",
         "If the log holds, sign its last record, keep the checkpoint beside the log and print it. "
         "A copy kept elsewhere shows later whether the log was rolled back.",
         {}},
};

inline constexpr std::array kAuditExport{
    Flag{FlagId::Format, "--format", "FORM", ValueKind::Choice, Times::Once,
         "jsonl, csv, ocsf or html",
         "jsonl: the records as they stand in the files (default). csv: one line for each action. "
         "ocsf: one event of class Process Activity (1007) for each action, as JSON lines. html: a "
         "page for a browser, with sums by day, tool and outcome.",
         kExportChoices},
};

inline constexpr std::array kAuditPrune{
    Flag{FlagId::KeepDays,
         "--keep-days",
         "N",
         ValueKind::Free,
         Times::Once,
         "keep the last N days",
         "Keep the files of the last N days, today included. The newest file always stays.",
         {}},
};

inline constexpr FlagGroup kAuditFilterGroup{"Which", kAuditFilter};
inline constexpr FlagGroup kAuditFleetGroup{"Whose", kAuditFleet};

inline constexpr std::array kAuditBareGroups{kBareHelpGroup};
inline constexpr std::array kAuditShowGroups{kAnswerGroup, kHelpGroup};
inline constexpr std::array kAuditListGroups{kAuditFilterGroup, FlagGroup{"And", kAuditOwn},
                                             kAuditFleetGroup, kAnswerGroup, kHelpGroup};
inline constexpr std::array kAuditStatsGroups{kAuditFilterGroup, kAuditFleetGroup, kAnswerGroup,
                                              kHelpGroup};
inline constexpr std::array kAuditShipGroups{FlagGroup{"What to do", kAuditShip}, kAnswerGroup,
                                             kHelpGroup};
inline constexpr std::array kAuditTailGroups{FlagGroup{"Which", kAuditTail}, kAnswerGroup,
                                             kHelpGroup};
inline constexpr std::array kAuditVerifyGroups{FlagGroup{"What to do", kAuditVerify},
                                               kAuditFleetGroup, kAnswerGroup, kHelpGroup};
inline constexpr std::array kAuditExportGroups{kAuditFilterGroup, kAuditFleetGroup,
                                               FlagGroup{"Answer", kAuditExport}, kHelpGroup};
inline constexpr std::array kAuditPruneGroups{FlagGroup{"What to do", kAuditPrune}, kAnswerGroup,
                                              kHelpGroup};

inline constexpr std::array kAuditShowOperands{
    Operand{"ID", "an event id, its beginning, a number, last, -N", ValueKind::Free, {}}};

inline constexpr std::array kAuditStatsOperands{
    Operand{"FILE", "exported records, in place of the log", ValueKind::File, {}}};

inline constexpr std::array kAuditExamples{
    Example{"cordon audit list --since 2h", "What ran lately; 1 if nothing did.", 1},
    Example{"cordon audit list --denied", "What was denied; 1 if nothing was.", 1},
    Example{"cordon audit stats", "How much, how long, how it ended; 1 if there is no log.", 1},
};
inline constexpr std::array kAuditListExamples{
    Example{"cordon audit list --since 2h", "What ran lately; 1 if nothing did.", 1},
    Example{"cordon audit list --path . --limit 5", "The last five runs here; 1 if there is none.",
            1},
    Example{"cordon audit list --json --outcome failure", "Failures, for machines; 1 without any.",
            1},
};
inline constexpr std::array kAuditShowExamples{
    Example{"cordon audit show last", "The newest action; 1 if there is none.", 1},
    Example{"cordon audit show 01a1dde0-94df", "By the beginning of its event id.", 1},
    Example{"cordon audit show --json 42", "Its records, for machines.", 1},
};
inline constexpr std::array kAuditTailExamples{
    Example{"cordon audit tail", "The last ten records; 1 if there is none.", 1},
    Example{"cordon audit tail --limit 100", "The last hundred.", 1},
    Example{"cordon audit tail --json", "The lines as they stand in the file.", 1},
};
inline constexpr std::array kAuditStatsExamples{
    Example{"cordon audit stats", "Everything; 1 if there is nothing.", 1},
    Example{"cordon audit stats --since 30d --tool run_code", "One tool, one month.", 1},
    Example{"cordon audit stats --json node1.jsonl node2.jsonl",
            "What the logs of two hosts hold, for machines; 2 if a file is missing.", 2},
};
inline constexpr std::array kAuditVerifyExamples{
    Example{"cordon audit verify", "Whether every record is there as it was written; 1 if not.", 1},
    Example{"cordon audit verify --checkpoint", "The same, and sign its end.", 1},
    Example{"cordon audit verify --json", "The same for machines.", 1},
};
inline constexpr std::array kAuditExportExamples{
    Example{"cordon audit export --since 1d > day.jsonl", "The records of the last day.", 1},
    Example{"cordon audit export --format csv", "A table of the actions.", 1},
    Example{"cordon audit export --format html > log.html", "A page for a browser.", 1},
};
inline constexpr std::array kAuditPruneExamples{
    Example{"cordon audit prune --keep-days 90", "Remove what is older; 1 if nothing is.", 1},
    Example{"cordon audit prune --keep-days 1", "Keep today alone.", 1},
    Example{"cordon audit prune --json --keep-days 365", "The same for machines.", 1},
};

inline constexpr std::array kAuditShipExamples{
    Example{"cordon audit ship --once --to postgresql://build7@db.example.org/audit",
            "For a timer; 1 if there is no log.", 1},
    Example{"cordon audit ship --once --to otlp+https://otel.example.org:4318",
            "To an OTLP receiver; 1 if there is no log.", 1},
    Example{"cordon audit ship --enroll --node build7", "The SQL that enrols this log.", 0},
};

inline constexpr std::string_view kAuditShipText =
    "Copies the audit log of this host, as it stands, to a PostgreSQL database that has those of a "
    "fleet, or to a receiver of the OpenTelemetry protocol (OTLP). Each record arrives at least "
    "once; the database stores it exactly once, a receiver may store it twice, under the same "
    "node and number. The log here stays the truth. If the other side is away nothing is lost: the "
    "log is the queue, and the next attempt goes on where the last one came to. Without --once and "
    "--follow it ends when everything is copied, and waits for the other side.\n\n"
    "The login of a node can add records of that node and do nothing else. A database needs libpq "
    "(libpq5).";

inline constexpr std::string_view kAuditVerifyText =
    "Reads the whole log and checks that every record is there as it was written: the hash of each "
    "line, the chain from line to line and day to day, the signed checkpoints, and the head, which "
    "knows where the log ends. It names file, line and number of each record that was edited, "
    "removed, moved, doubled or cut off. What a crash or a power cut explains is told apart. The "
    "exit status is 0 if the log holds, 1 if it does not or there is none.\n\n"
    "With --from it checks the logs of a fleet as the database has them: the chain and the signed "
    "checkpoints of each node, and whether a node sent two records with one number.";

inline constexpr std::string_view kAuditStatsText =
    "Counts actions by outcome, tool and day: how many there were, failed, were refused, how much "
    "was denied in them, how many a limit ended and how long they took. With FILEs it counts what "
    "they hold, records as `cordon audit export` writes them or days of a log, of this host or of "
    "others; a record that stands in them twice counts once.";

inline constexpr std::string_view kAuditPruneText =
    "Removes whole days from the beginning of a log that verifies. The last record that goes is "
    "signed first, so that the rest still verifies, and a record tells what was removed.";

inline constexpr int kAuditUsage = 2;

inline constexpr std::array kAuditVerbs{
    Verb{
        "audit",
        "list|show|tail|stats|verify|export|prune|ship [ARG]...",
        "what was done, and whether the account of it holds",
        "Answers questions about the audit log. It holds labels and keyed hashes, never arguments, "
        "paths below a home, variables or content.",
        kAuditBareGroups,
        {},
        kAuditExamples,
        kAuditUsage},
    Verb{"audit list",
         "",
         "actions, newest first",
         "Prints one line for each action: its number, when it began (local time), in which "
         "project, "
         "what it was, how it ended and how much was denied. The name of a project is kept beside "
         "the log, for you alone.",
         kAuditListGroups,
         {},
         kAuditListExamples,
         kAuditUsage},
    Verb{"audit show", "[ID|-N]", "one action, in full",
         "Prints everything the log holds of an action. last, -1 and nothing at all are the newest "
         "that Cordon did not start for itself, -2 is the one before.",

         kAuditShowGroups, kAuditShowOperands, kAuditShowExamples, kAuditUsage},
    Verb{"audit tail",
         "",
         "the last records, and those to come",
         "Prints the last records in the order in which they were written.",
         kAuditTailGroups,
         {},
         kAuditTailExamples,
         kAuditUsage},
    Verb{"audit stats", "[FILE]...", "how much, how long, how it ended", kAuditStatsText,
         kAuditStatsGroups, kAuditStatsOperands, kAuditStatsExamples, kAuditUsage},
    Verb{"audit verify",
         "",
         "whether the log is whole and unchanged",
         kAuditVerifyText,
         kAuditVerifyGroups,
         {},
         kAuditVerifyExamples,
         kAuditUsage},
    Verb{"audit export",
         "",
         "the log for other programs",
         "Prints actions oldest first, as records, as a table, or as OCSF events. With --from it "
         "prints the records of a fleet as JSON lines, node by node: each with its node, and with "
         "when the database received it.",
         kAuditExportGroups,
         {},
         kAuditExportExamples,
         kAuditUsage},
    Verb{"audit ship",
         "",
         "copy the log to a database of a fleet, or by OTLP",
         kAuditShipText,
         kAuditShipGroups,
         {},
         kAuditShipExamples,
         kAuditUsage},
    Verb{"audit prune",
         "",
         "remove old days, provably",
         kAuditPruneText,
         kAuditPruneGroups,
         {},
         kAuditPruneExamples,
         kAuditUsage},
};

}  // namespace cordon::flags
