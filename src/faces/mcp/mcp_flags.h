// The words and flags of `cordon mcp`.
#pragma once

#include <array>
#include <string_view>

#include "faces/cli/flag_table.h"
#include "faces/cli/help_flags.h"
#include "faces/cli/host_setup.h"
#include "faces/cli/run_flags.h"

namespace cordon::flags {

inline constexpr std::array kMcpServe{
    Flag{FlagId::Profile, "--profile", "NAME", ValueKind::Choice, Times::Once,
         "basic (default) or full",
         "Which tools there are. basic: run_code, read_local_file, write_local_file. full: these "
         "with more parameters, processes that go on, and more for files.",
         kProfileChoices},
    Flag{FlagId::Workspace,
         "--workspace",
         "DIR",
         ValueKind::Directory,
         Times::Once,
         "where commands start, and \"@cwd\" of ceilings",
         "The directory in which commands start, to which relative paths refer and which \"@cwd\" "
         "in a ceiling means (default: the current one). It grants nothing.",
         {}},
    Flag{FlagId::Ceiling,
         "--ceiling",
         "FILE",
         ValueKind::File,
         Times::Many,
         "a further ceiling; read anew on every call",
         "A further ceiling. Every ceiling given counts; they are read anew on every call. Without "
         "any ceiling nothing is granted.",
         {}},
    kBackend,
    Flag{FlagId::Session,
         "--session",
         "",
         ValueKind::None,
         Times::Once,
         "one sandbox for all commands of a client",
         "Run the commands of a client in one sandbox that lasts: home, /tmp, servers and "
         "background processes stay from call to call. A command that names readonly_paths or "
         "readwrite_paths has a sandbox of its own, as file tools have.",
         {}},
    kStage,
};

inline constexpr std::array kMcpTransport{
    Flag{FlagId::Http,
         "--http",
         "ADDR",
         ValueKind::Free,
         Times::Once,
         "listen on loopback: 127.0.0.1:8080",
         "Serve HTTP on a loopback address with a port (0: any that is free) instead of standard "
         "input and output. Needs --token-file.",
         {}},
    Flag{FlagId::Socket,
         "--socket",
         "PATH",
         ValueKind::Path,
         Times::Once,
         "listen on a Unix socket",
         "Serve HTTP on a Unix socket in a directory of this user alone. Needs --token-file.",
         {}},
    Flag{FlagId::TokenFile,
         "--token-file",
         "FILE",
         ValueKind::File,
         Times::Once,
         "the secret that HTTP clients must send",
         "A file, readable by its owner alone, with a secret of at least 32 characters. Clients "
         "send it as a bearer token. No sandbox sees the file.",
         {}},
};

inline constexpr std::array kMcpConfigure{
    Flag{FlagId::PrintConfig, "--print-config", "HOST", ValueKind::Choice, Times::Once,
         "print what to tell an agent host",
         "Serve nothing; print the configuration with which HOST starts this server, and on "
         "standard error where it belongs and the command line that leaves the host no other "
         "tools: claude (Claude Code), codex (Codex CLI), copilot (GitHub Copilot CLI), gemini "
         "(Gemini CLI), vscode, cursor, opencode, qwen (Qwen Code), windsurf, zed, claude-desktop, "
         "and generic for any other. --workspace, --ceiling, --backend, --profile, --session and "
         "--stage are written into it.",
         kPrintedHostChoices},
    Flag{FlagId::Json,
         "--json",
         "",
         ValueKind::None,
         Times::Once,
         "with --print-config: all of it as JSON",
         "With --print-config: every file, the command line and notes as one JSON document.",
         {}},
};

inline constexpr std::array kMcpGroups{FlagGroup{"What is served", kMcpServe},
                                       FlagGroup{"To whom", kMcpTransport},
                                       FlagGroup{"Setting up a host", kMcpConfigure}, kHelpGroup};

inline constexpr std::array kMcpExamples{
    Example{"CORDON_ENABLE_RUN_CODE=1 cordon mcp < /dev/null",
            "Serve an agent host on standard input and output until it closes them.", 0},
    Example{"cordon mcp --print-config claude --workspace .",
            "The configuration for Claude Code, and the line to start it with.", 0},
    Example{"CORDON_ENABLE_RUN_CODE=1 cordon mcp --profile full < /dev/null",
            "The same with processes that go on and more tools for files.", 0},
};

inline constexpr std::string_view kMcpText =
    "Serves the Model Context Protocol on standard input and output. A model gets hands on this "
    "machine that stay inside the operator's ceiling: run_code, read_local_file and "
    "write_local_file, if CORDON_ENABLE_RUN_CODE is exactly 1. Every call runs in a sandbox of its "
    "own and is recorded in the audit log.\n\n"
    "With --stage all tools of a client share one sandbox whose writes go to a layer of its own, "
    "as under a ceiling with stage = \"review\": nothing of it is in the project before a person "
    "takes it with cordon changes, and workspace_diff shows it.\n\n"
    "Ceilings are read anew on every call. Without any ceiling nothing is granted beyond what "
    "loading a program needs. No argument of a tool widens anything.\n\n"
    "The boundary contains these tools, not the host that calls them: take its own shell and file "
    "tools away, or it needs none of these.";

inline constexpr Verb kMcpVerb{
    "mcp", "", "serve tools to an agent host", kMcpText, kMcpGroups, {}, kMcpExamples, 2};

}  // namespace cordon::flags
