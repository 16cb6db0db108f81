// The words and flags of `cordon loop`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"
#include "faces/cli/run_flags.h"

namespace cordon::flags {

// There is no review: the verify command decides.
inline constexpr std::array<std::string_view, 1> kLoopStageChoices{"auto"};

inline constexpr std::array kLoopWork{
    Flag{FlagId::Plan,
         "--plan",
         "FILE",
         ValueKind::File,
         Times::Once,
         "the features, .md or .json (default: PLAN.md)",
         "The plan: a Markdown checklist, or JSON. Each feature has an id, a title, what the agent "
         "is told and a verify command. It is read once, before anything starts, and is read-only "
         "inside.",
         {}},
    Flag{FlagId::Example,
         "--example",
         "",
         ValueKind::None,
         Times::Once,
         "print a plan to start from",
         "Print a small plan and end: cordon loop --example > PLAN.md.",
         {}},
    Flag{FlagId::Attempts,
         "--attempts",
         "N",
         ValueKind::Free,
         Times::Once,
         "attempts of each feature (default: 3)",
         "How often an agent is started for one feature, unless the plan says otherwise.",
         {}},
    Flag{
        FlagId::Stage, "--stage", "[=auto]", ValueKind::OptionalChoice, Times::Once,
        "the project gets accepted attempts alone",
        "Let each attempt work in a layer of its own, and verify it there. When the verify command "
        "accepts it, what nothing on the host runs is applied to the project, and the rest is held "
        "back for cordon changes; when not, all of it is discarded. So does mode = \"staged\" in "
        "a policy or a ceiling.",
        kLoopStageChoices},
    Flag{
        FlagId::Commit,
        "--commit",
        "",
        ValueKind::None,
        Times::Once,
        "commit what each accepted feature changed",
        "Commit what changed while an accepted feature was worked on, inside the sandbox, with the "
        "title as the message. What lay in the project before, staged or not, stays as it is.",
        {}},
    Flag{FlagId::Restart,
         "--restart",
         "",
         ValueKind::None,
         Times::Once,
         "forget what was done before",
         "Begin anew. Without it a loop goes on where the last one of this project ended, and "
         "refuses if the plan is another one now.",
         {}},
};

inline constexpr std::array kLoopBudget{
    Flag{FlagId::Total,
         "--total",
         "DURATION",
         ValueKind::Free,
         Times::Once,
         "time of all agents together",
         "The time that all agents of this plan may take together, over all loops: 30m, 8h.",
         {}},
    Flag{FlagId::Tokens,
         "--tokens",
         "N",
         ValueKind::Free,
         Times::Once,
         "tokens of all agents together",
         "Start no further attempt once the agents have told of this many tokens.",
         {}},
    Flag{FlagId::Cost,
         "--cost",
         "DOLLARS",
         ValueKind::Free,
         Times::Once,
         "cost of all agents together",
         "Start no further attempt once the agents have told of this cost in whole dollars.",
         {}},
};

inline constexpr std::array kLoopShow{
    Flag{FlagId::Why,
         "--why",
         "",
         ValueKind::None,
         Times::Once,
         "watch the agent; tell what it was refused",
         "Look at every path that an agent and its tools ask for, and tell after the attempt which "
         "of them its policy does not give it, as cordon run --why does. Agents that ask for many "
         "files are slower.",
         {}},
    Flag{FlagId::Plain,
         "--plain",
         "",
         ValueKind::None,
         Times::Once,
         "lines instead of a screen",
         "Write lines, as without a terminal, instead of painting a screen. Keys of the screen: p "
         "pause and go on, s skip the feature, q quit, with one question while agents work.",
         {}},
    Flag{FlagId::Json,
         "--json",
         "",
         ValueKind::None,
         Times::Once,
         "one JSON document for each event",
         "Write every event to standard output as one JSON document a line.",
         {}},
};

inline constexpr std::array kLoopGroups{FlagGroup{"The work", kLoopWork},
                                        FlagGroup{"Budgets", kLoopBudget},
                                        FlagGroup{"What the agent may do", kPolicy},
                                        FlagGroup{"Limits of one attempt", kLimits},
                                        kMechanismGroup,
                                        FlagGroup{"Output", kLoopShow},
                                        kHelpGroup};

inline constexpr std::array kLoopOperands{
    Operand{"AGENT", "a known agent, or a command of your own", ValueKind::Free, {}},
};

inline constexpr std::array kLoopExamples{
    Example{"cordon loop claude",
            "Claude Code works through PLAN.md. Where there is none the answer is 125.", 125},
    Example{"cordon loop --plan work.json --commit --total 8h codex",
            "Codex CLI, with a bound on its time and a commit for each feature.", 125},
    Example{"cordon loop --net none -- ./my-agent --fast",
            "An agent of one's own that reads its prompt from standard input.", 125},
};

inline constexpr std::string_view kLoopText =
    "Works through a plan unattended. AGENT is claude, codex, gemini or copilot with further words "
    "for it, or any command that reads its prompt from standard input. For each feature that is "
    "not done, the agent is started contained, with its own questions switched off, and reads what "
    "to do; then the verify command of the feature, run contained and without network, decides "
    "whether it is done. The agent's word and exit status decide nothing. With --stage an attempt "
    "that is not accepted leaves nothing behind in the project.\n\n"
    "Before anything else a command is really run contained. If that fails, or if containment is "
    "in doubt at any later time, the loop ends with status 125 and starts nothing further. There "
    "is no way to go on without.\n\n"
    "What was done is kept in Cordon's state directory, so that a loop which was ended goes on "
    "where it was. Every attempt is in the audit log. The first Ctrl-C ends the agent and the "
    "loop.\n\n"
    "Exit status: 0 every feature is done, 1 some are not, 130 it was stopped, 125 it was refused "
    "or containment failed.";

inline constexpr Verb kLoopVerb{"loop",
                                "AGENT [ARG]...",
                                "let a contained agent work through a plan",
                                kLoopText,
                                kLoopGroups,
                                kLoopOperands,
                                kLoopExamples,
                                125};

}  // namespace cordon::flags
