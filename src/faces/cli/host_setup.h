// What each agent host must be told so that it starts `cordon mcp` and has no hands but its tools.
// Pure values; print_config.cc shows them.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cordon {

namespace flags {

// Those of `setup`, which writes the files itself.
inline constexpr std::array<std::string_view, 6> kHostChoices{"claude", "codex",  "copilot",
                                                              "gemini", "vscode", "cursor"};
// Those of --print-config, and of `doctor --host`.
inline constexpr std::array<std::string_view, 12> kPrintedHostChoices{
    "claude",   "codex", "copilot",  "gemini", "vscode",         "cursor",
    "opencode", "qwen",  "windsurf", "zed",    "claude-desktop", "generic"};
inline constexpr std::array<std::string_view, 2> kProfileChoices{"basic", "full"};  // of tools

}  // namespace flags

// How the server is to be started. Every text passed check_portable.
struct ServerStart {
  std::string executable;             // absolute
  std::string workspace;              // absolute; empty: wherever the host starts it
  std::vector<std::string> ceilings;  // absolute
  std::string profile;                // empty: the default
  // Where files lie that no sandbox may change. What names the program a host starts, or takes its
  // tools away, must not lie in the workspace: a command could change it for the next start.
  std::string safe_directory;
  std::string env_file;      // with the variables of an installation of its own; empty: none
  std::string backend = {};  // of every run; empty: the first that works
  bool session = false;      // --session
  bool stage = false;        // --stage
};

struct HostFile {
  std::string path;  // where it belongs, as its documentation names it
  std::string content;
};

struct HostSetup {
  HostFile configuration;
  std::vector<HostFile> further;    // what takes the host's own tools away, where that is a file
  std::vector<std::string> launch;  // the command line, as words; empty: it is started as ever
  std::vector<std::string> notes;   // what stays outside, a sentence each
};

// `host` is one of the choices of --print-config.
HostSetup host_setup(std::string_view host, const ServerStart& start);

// Whether the host starts its servers wherever it was started itself, and not in the project.
bool starts_anywhere(std::string_view host);

// host_setup, or a refusal: a host that is not known, a path that it would read differently.
Result<HostSetup> checked_host_setup(std::string_view host, const ServerStart& start);

// Refuses text that cannot be written into the configuration of this host so that it means itself:
// control characters, bytes that are not UTF-8, and a '$' where the host replaces variables.
Result<void> check_portable(std::string_view host, std::string_view text);

}  // namespace cordon
