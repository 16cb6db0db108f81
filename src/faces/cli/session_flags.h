// The words and flags of `cordon session`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"
#include "faces/cli/run_flags.h"

namespace cordon::flags {

inline constexpr Flag kConversation{
    FlagId::Conversation,
    "--conversation",
    "NAME",
    ValueKind::Free,
    Times::Once,
    "the conversation that the session belongs to",
    "The conversation that the session belongs to. A session that was started with one takes "
    "commands of that conversation alone.",
    {}};
inline constexpr Flag kHandleFd{
    FlagId::HandleFd,
    "--handle-fd",
    "N",
    ValueKind::Free,
    Times::Once,
    "pass the handle through descriptor N",
    "Pass the handle of the session through the open descriptor N instead of a file: session start "
    "writes it there and keeps no copy, the other verbs read it there.",
    {}};
inline constexpr Flag kSessionJson{FlagId::Json,
                                   "--json",
                                   "",
                                   ValueKind::None,
                                   Times::Once,
                                   "answer as JSON",
                                   "Answer with one JSON document.",
                                   {}};

inline constexpr std::array kSessionStart{
    Flag{FlagId::Agent,
         "--agent",
         "NAME",
         ValueKind::Free,
         Times::Once,
         "who works in the session",
         "Who works in the session. It is in the report of every command.",
         {}},
    kConversation,
    Flag{FlagId::Idle,
         "--idle",
         "DURATION",
         ValueKind::Free,
         Times::Once,
         "end it after so long without a command (30m)",
         "End the session when no command has run in it for this time: 90s, 30m, 8h. The default "
         "is 30m.",
         {}},
    Flag{FlagId::Lifetime,
         "--lifetime",
         "DURATION",
         ValueKind::Free,
         Times::Once,
         "end it after this time in any case (24h)",
         "End the session after this time, whatever runs in it. The default is 24h.",
         {}},
    kHandleFd,
    kStage,
    Flag{FlagId::Cwd,
         "--cwd",
         "DIR",
         ValueKind::Directory,
         Times::Once,
         "where commands start; grants nothing",
         "Where the commands of the session start. It grants nothing.",
         {}},
    kBackend,
    kSessionJson,
};
inline constexpr std::array kSessionExec{
    kConversation,
    kHandleFd,
    Flag{FlagId::Timeout,
         "--timeout",
         "DURATION",
         ValueKind::Free,
         Times::Once,
         "kill the command after this time (30s, 5m)",
         "Kill what came of the command after this time. The exit status is then 124. The limit of "
         "the session's policy counts too.",
         {}},
    Flag{FlagId::Cwd,
         "--cwd",
         "DIR",
         ValueKind::Directory,
         Times::Once,
         "start the command in DIR; grants nothing",
         "Where the command starts, if not where the session started. It grants nothing.",
         {}},
    Flag{FlagId::Json,
         "--json",
         "",
         ValueKind::None,
         Times::Once,
         "capture the streams, print the report",
         "Capture the command's output and print the report as JSON. The exit status stays the "
         "same, unless the report cannot be written: then it is not 0.",
         {}},
    kReport,
    Flag{FlagId::Summary,
         "--summary",
         "",
         ValueKind::None,
         Times::Once,
         "print ten lines about the command at its end",
         "Print at most ten lines about the command on standard error when it has ended.",
         {}},
};
inline constexpr std::array kSessionStop{kHandleFd};
inline constexpr std::array kSessionList{kSessionJson};

inline constexpr std::array kSessionBareGroups{kBareHelpGroup};
inline constexpr std::array kSessionStartGroups{
    kPolicyGroup, kLimitGroup, FlagGroup{"The session", kSessionStart}, kHelpGroup};
inline constexpr std::array kSessionExecGroups{FlagGroup{"The command", kSessionExec}, kHelpGroup};
inline constexpr std::array kSessionListGroups{FlagGroup{"Answer", kSessionList}, kHelpGroup};
inline constexpr std::array kSessionStopGroups{FlagGroup{"The session", kSessionStop}, kHelpGroup};

inline constexpr std::array kSessionExecOperands{
    Operand{"ID", "of the session, as start printed it, or last", ValueKind::Free, {}},
    Operand{"CMD [ARG]...", "the command and its arguments", ValueKind::File, {}}};
inline constexpr std::array kSessionOperands{
    Operand{"ID", "of the session, as start printed it, or last", ValueKind::Free, {}}};

inline constexpr std::string_view kSessionText =
    "A session is one living sandbox in which commands are run one after the other, or side by "
    "side. Its private home and /tmp, its background processes and its servers on loopback last "
    "from command to command, and no other session sees them. Everything that holds a run holds a "
    "session; the ceilings are those of its start, and a ceiling that permits less since then "
    "refuses the next command.\n\n"
    "start prints the id. Only who has the handle can run commands in it: a file in the runtime "
    "directory that nobody else can read.";
inline constexpr std::string_view kSessionStartText =
    "Opens a session under a policy, which is made as that of cordon run, and prints its id. "
    "Limits of time and output are those of each command; memory, processes, processors and "
    "scratch space are those of the whole session. It ends with session stop, after --idle or "
    "--lifetime, or when its first process is killed.\n\n"
    "Exit status: 0, or that of cordon run if nothing was started.";
inline constexpr std::string_view kSessionExecText =
    "Runs CMD in the session, on the streams of this command. What it starts in the background "
    "goes on when it has ended, until the session ends; what CMD itself is doing ends with this "
    "command. Each command is recorded before it runs. Protected files that appeared are moved "
    "away after each command.\n\n"
    "Exit status: as that of cordon run; 125 too if there is no such session, the handle is not "
    "its own, or it belongs to another conversation.";
inline constexpr std::string_view kSessionListText = "Lists the open sessions of this user.";
inline constexpr std::string_view kSessionShowText =
    "Shows one session: who works in it, where, since when and by which mechanism.";
inline constexpr std::string_view kSessionStopText =
    "Ends every process of the session and removes its private home and /tmp. What it wrote to its "
    "grants stays, but for protected files, which are held back as after a run.";

inline constexpr std::array kSessionExamples{
    Example{"cordon session start", "Open one for this directory; prints its id.", 0},
    Example{"cordon session exec last -- sh -c 'echo kept > ~/note'",
            "Run a command in the newest one.", 0},
    Example{"cordon session stop last", "End it.", 0},
};
inline constexpr std::array kSessionStartExamples{
    Example{"cordon session start --idle 10m", "End it after ten minutes without a command.", 0},
    Example{"cordon session start --agent claude --conversation c-17 --json",
            "For one conversation of one agent.", 0},
    Example{"cordon session start --policy readonly --timeout 30s",
            "Commands can change nothing, and have thirty seconds each.", 0},
};
inline constexpr std::array kSessionExecExamples{
    Example{"cordon session exec last -- ls", "Run ls in the newest session; 125 if there is none.",
            125},
    Example{"cordon session exec last --timeout 5s --report end.json -- sleep 1",
            "With a limit of its own, and the report in a file.", 125},
    Example{"cordon session exec last --json -- id -u", "With the report; 125 if there is none.",
            125},
};
inline constexpr std::array kSessionListExamples{
    Example{"cordon session list", "The open sessions; 1 if there is none.", 1},
    Example{"cordon session list --json", "The same for machines.", 1},
    Example{"cordon session list -h", "What the columns are.", 0},
};
inline constexpr std::array kSessionShowExamples{
    Example{"cordon session show last", "The newest one; 1 if there is none.", 1},
    Example{"cordon session show 0123456789abcdef", "One by its id.", 1},
    Example{"cordon session show last --json", "The same for machines.", 1},
};
inline constexpr std::array kSessionStopExamples{
    Example{"cordon session stop last", "End the newest one; 1 if there is none.", 1},
    Example{"cordon session stop 0123456789abcdef", "One by its id.", 1},
    Example{"cordon session stop -h", "What happens to what it wrote.", 0},
};

inline constexpr std::array kSessionVerbs{
    Verb{"session",
         "",
         "keep a sandbox and run commands in it",
         kSessionText,
         kSessionBareGroups,
         {},
         kSessionExamples,
         2},
    Verb{"session start",
         "",
         "open a session and print its id",
         kSessionStartText,
         kSessionStartGroups,
         {},
         kSessionStartExamples,
         125},
    Verb{"session exec", "ID [OPTION]... [--] CMD [ARG]...", "run a command in a session",
         kSessionExecText, kSessionExecGroups, kSessionExecOperands, kSessionExecExamples, 125},
    Verb{"session list",
         "",
         "the open sessions",
         kSessionListText,
         kSessionListGroups,
         {},
         kSessionListExamples,
         2},
    Verb{"session show", "ID", "one session", kSessionShowText, kSessionListGroups,
         kSessionOperands, kSessionShowExamples, 2},
    Verb{"session stop", "ID", "end a session", kSessionStopText, kSessionStopGroups,
         kSessionOperands, kSessionStopExamples, 2},
};

}  // namespace cordon::flags
