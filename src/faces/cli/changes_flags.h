// The words and flags of `cordon changes`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"

namespace cordon::flags {

inline constexpr std::array kChangesBareGroups{kBareHelpGroup};
inline constexpr std::array kChangesGroups{kAnswerGroup, kHelpGroup};

inline constexpr std::array kPager{
    Flag{
        FlagId::NoPager,
        "--no-pager",
        "",
        ValueKind::None,
        Times::Once,
        "write everything at once",
        "At a terminal what is longer than the screen goes through a pager: the program that PAGER "
        "names, or less; both are looked up in the directories of the system alone. With this, or "
        "PAGER=cat, everything is written at once.",
        {}},
};
inline constexpr std::array kPage{kPageForBrowser};
inline constexpr FlagGroup kPagerGroup{"Reading", kPager};
inline constexpr FlagGroup kPageGroup{"Page", kPage};
inline constexpr std::array kChangesShowGroups{kAnswerGroup, kPagerGroup, kHelpGroup};
inline constexpr std::array kChangesDiffGroups{kAnswerGroup, kPageGroup, kPagerGroup, kHelpGroup};

inline constexpr std::array kChangesOperands{
    Operand{"RUN", "the id of a run, or last (default)", ValueKind::Free, {}},
    Operand{"PATH...", "only what lies at or below these paths", ValueKind::Path, {}}};

inline constexpr std::string_view kChangesText =
    "A run writes its grants for good. What it may not leave there (settings of editors and "
    "agents, git hooks, most of git's configuration, commands that would hide others on PATH) it "
    "changes in a private copy; when the run ends, the host has its own version and the run's "
    "version is kept aside. A staged run (run --stage) writes everything into a layer of its own. "
    "These verbs show what is there and take it.\n\n"
    "RUN is the id of a run, as the report has it, or last, which is the default: the newest run "
    "of this project that held something back or was staged, that is one that could write the "
    "current directory or the repository around it. Of another project a run is named by its id. "
    "Every other operand is a path, and so is everything after --.\n\n"
    "The exit status is 0 if it was done, 1 if there was nothing to do or the host's version has "
    "changed since the run began (both versions stay), 2 for an error.";

inline constexpr std::string_view kChangesListText =
    "Lists what the run changed and did not write for good: path, change (added, modified, "
    "deleted, mode, type), state (held, applied, conflict, discarded, lost), the size of the run's "
    "version and why it was held. What a run moved away and could not write down, as on a full "
    "disk, is listed whatever the run, with the command that takes it.";
inline constexpr std::string_view kChangesShowText =
    "Prints the run's version of each path. At a terminal control characters are escaped.";
inline constexpr std::string_view kChangesDiffText =
    "Prints how the run's version differs from the one on the host, line by line. It is computed "
    "here, and control characters are escaped. What is larger than 64 MiB, or cannot be read, is "
    "named as not compared.";
inline constexpr std::string_view kChangesApplyText =
    "Puts the run's version into its place, each file at once, and keeps what it replaces for "
    "restore. Of a staged run, what something on the host would run is taken only if its path is "
    "named, and each path with the directories it needs. A file of the host that is no longer what "
    "it was when the run began is left: that is a conflict, and both versions stay.";
inline constexpr std::string_view kChangesDiscardText =
    "Drops the run's version of what is still held; of a staged run of which nothing is held, what "
    "restore would need. The host's files are not touched.";
inline constexpr std::string_view kChangesRestoreText =
    "Undoes apply: what was replaced comes back, and the run's version is held again. A file that "
    "was changed after it was applied is left.";

inline constexpr std::array kChangesExamples{
    Example{"cordon changes list", "What the last run held back; 1 if nothing.", 1},
    Example{"cordon changes diff .vscode", "How its version differs; 1 if nothing was held.", 1},
    Example{"cordon changes apply last .vscode", "Take that version; 1 if nothing was held.", 1},
};
inline constexpr std::array kChangesListExamples{
    Example{"cordon changes list", "What the last run held back; 1 if nothing.", 1},
    Example{"cordon changes list 0123456789abcdef", "The same of one run.", 1},
    Example{"cordon changes list --json", "The same for machines.", 1},
};
inline constexpr std::array kChangesShowExamples{
    Example{"cordon changes show .mcp.json", "The run's version of a file; 1 if there is none.", 1},
    Example{"cordon changes show last -- last", "Of a file that is called last.", 1},
    Example{"cordon changes show --json .vscode", "The changes below .vscode, for machines.", 1},
};
inline constexpr std::array kChangesDiffExamples{
    Example{"cordon changes diff", "Everything the last run held back; 1 if nothing.", 1},
    Example{"cordon changes diff .vscode", "Only what lies there.", 1},
    Example{"cordon changes diff --html > changes.html", "As a page for a browser.", 1},
};
inline constexpr std::array kChangesApplyExamples{
    Example{"cordon changes apply last .vscode", "Take the run's version; 1 if nothing is held.",
            1},
    Example{"cordon changes apply 0123456789abcdef", "Everything that run held back.", 1},
    Example{"cordon changes apply --json", "The same for machines.", 1},
};
inline constexpr std::array kChangesDiscardExamples{
    Example{"cordon changes discard", "Drop what the last run held back; 1 if nothing.", 1},
    Example{"cordon changes discard last .claude", "Only that.", 1},
    Example{"cordon changes discard 0123456789abcdef", "Of one run.", 1},
};
inline constexpr std::array kChangesRestoreExamples{
    Example{"cordon changes restore", "Undo the last apply; 1 if there was none.", 1},
    Example{"cordon changes restore last .vscode", "Only there.", 1},
    Example{"cordon changes restore 0123456789abcdef", "Of one run.", 1},
};

inline constexpr std::string_view kChangesSynopsis = "[RUN] [PATH...]";

inline constexpr std::array kChangesVerbs{
    Verb{"changes",
         "",
         "take or drop what a run held back",
         kChangesText,
         kChangesBareGroups,
         {},
         kChangesExamples,
         2},
    Verb{"changes list", kChangesSynopsis, "what a run held back", kChangesListText, kChangesGroups,
         kChangesOperands, kChangesListExamples, 2},
    Verb{"changes show", kChangesSynopsis, "print the run's version", kChangesShowText,
         kChangesShowGroups, kChangesOperands, kChangesShowExamples, 2},
    Verb{"changes diff", kChangesSynopsis, "compare it with the host's version", kChangesDiffText,
         kChangesDiffGroups, kChangesOperands, kChangesDiffExamples, 2},
    Verb{"changes apply", kChangesSynopsis, "put it into its place", kChangesApplyText,
         kChangesGroups, kChangesOperands, kChangesApplyExamples, 2},
    Verb{"changes discard", kChangesSynopsis, "drop it", kChangesDiscardText, kChangesGroups,
         kChangesOperands, kChangesDiscardExamples, 2},
    Verb{"changes restore", kChangesSynopsis, "undo apply", kChangesRestoreText, kChangesGroups,
         kChangesOperands, kChangesRestoreExamples, 2},
};

}  // namespace cordon::flags
