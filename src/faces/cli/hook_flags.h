// The words and flags of `cordon hook`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"
#include "faces/cli/run_flags.h"

namespace cordon::flags {

inline constexpr std::array kHookGroups{kBareHelpGroup};
inline constexpr std::array kHookHostGroups{kPolicyGroup, kLimitGroup, kMechanismGroup, kHelpGroup};

inline constexpr std::array kHookExamples{
    Example{"cordon hook claude < call.json || exit 2",
            "As it is installed. Here there is no message, and the answer is 2.", 2},
    Example{"cordon hook claude --policy readonly < call.json || exit 2",
            "Options of run are passed on. Here too the answer is 2.", 2},
    Example{"cordon hook claude < /dev/null",
            "An empty message: the answer is 2, which blocks the call.", 2},
};

inline constexpr std::string_view kHookClaudeText =
    "Reads one PreToolUse message of Claude Code from standard input. For a call of Bash it prints "
    "the answer that lets Claude Code run the same command through cordon run, with the options "
    "given here. For tools that run no command it prints nothing. Whatever it cannot read or does "
    "not know, and any failure of its own, ends with status 2 and the reason on standard "
    "error, which blocks the call. Other tools with a command, such as Monitor, are blocked.\n\n"
    "Every command is wrapped, also one that begins with cordon run. A command that was wrapped "
    "needs no further permission from Claude Code; rules that deny or ask still count.\n\n"
    "Put it into the settings as a hook on Bash and Monitor, as \"cordon hook claude || exit 2\" "
    "and with \"onFailure\": \"block\": Claude Code goes on with the original command after any "
    "other end of a hook. The shell calls are contained, not Claude Code and its file tools; to "
    "leave it nothing else, give it cordon mcp instead.";

inline constexpr std::string_view kHookCodexText =
    "The same for the PreToolUse hook of Codex CLI. Codex must have no sandbox of its own then "
    "(sandbox_mode = \"danger-full-access\"): one cannot be made inside another. Other tools with "
    "a command, apply_patch among them, are blocked where the hook is asked about them.";

inline constexpr std::string_view kHookGeminiText =
    "The same for the BeforeTool hook of Gemini CLI and its tool run_shell_command.";

inline constexpr std::array kHookCodexExamples{
    Example{"cordon hook codex < call.json || exit 2",
            "As it is installed. Here there is no message, and the answer is 2.", 2},
    Example{"cordon hook codex --policy readonly < call.json || exit 2",
            "Options of run are passed on. Here too the answer is 2.", 2},
    Example{"cordon hook codex < /dev/null",
            "An empty message: the answer is 2, which blocks the call.", 2},
};

inline constexpr std::string_view kHookCopilotText =
    "The same for the preToolUse hook of Copilot CLI and its tool bash. A command that is to "
    "outlive the host (detach) is blocked.";

inline constexpr std::array kHookCopilotExamples{
    Example{"cordon hook copilot < call.json || exit 2",
            "As it is installed. Here there is no message, and the answer is 2.", 2},
    Example{"cordon hook copilot --policy readonly < call.json || exit 2",
            "Options of run are passed on. Here too the answer is 2.", 2},
    Example{"cordon hook copilot < /dev/null",
            "An empty message: the answer is 2, which blocks the call.", 2},
};

inline constexpr std::array kHookGeminiExamples{
    Example{"cordon hook gemini < call.json || exit 2",
            "As it is installed. Here there is no message, and the answer is 2.", 2},
    Example{"cordon hook gemini --policy readonly < call.json || exit 2",
            "Options of run are passed on. Here too the answer is 2.", 2},
    Example{"cordon hook gemini < /dev/null",
            "An empty message: the answer is 2, which blocks the call.", 2},
};

inline constexpr std::array kHookVerbs{
    Verb{
        "hook",
        "claude|codex|copilot|gemini [OPTION]...",
        "make an agent host's shell calls contained ones",
        "An agent host calls this before it uses its own shell, and runs what is answered. claude: "
        "Claude Code, codex: Codex CLI, copilot: Copilot CLI, gemini: Gemini CLI.",
        kHookGroups,
        {},
        kHookExamples,
        2},
    Verb{"hook claude",
         "",
         "answer a PreToolUse hook of Claude Code",
         kHookClaudeText,
         kHookHostGroups,
         {},
         kHookExamples,
         2},
    Verb{"hook codex",
         "",
         "answer a PreToolUse hook of Codex CLI",
         kHookCodexText,
         kHookHostGroups,
         {},
         kHookCodexExamples,
         2},
    Verb{"hook copilot",
         "",
         "answer a preToolUse hook of Copilot CLI",
         kHookCopilotText,
         kHookHostGroups,
         {},
         kHookCopilotExamples,
         2},
    Verb{"hook gemini",
         "",
         "answer a BeforeTool hook of Gemini CLI",
         kHookGeminiText,
         kHookHostGroups,
         {},
         kHookGeminiExamples,
         2},
};

}  // namespace cordon::flags
