// The environment of a command, built from nothing.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

// Where a command with [net] ssh_agent finds the agent. No file is there: the broker knows the
// name.
inline constexpr std::string_view kSshAgentSocket = "/run/ssh-agent";

// LD_*, GLIBC_TUNABLES: names nobody may set, not even on the command line.
bool is_loader_variable(std::string_view name);
// Names a request from a model or a library may never set: loader names and interpreter injection
// (DYLD_*, PYTHON*, NODE_OPTIONS, BASH_ENV, IFS, GIT_*, PERL5OPT, ...).
bool is_injection_variable(std::string_view name);
// TOKEN, SECRET, PASSWORD, CREDENTIAL, a KEY at the end, and so on, in any case.
bool is_secret_name(std::string_view name);
bool is_valid_variable_name(std::string_view name);

// What every preset but strict passes on besides the language and the terminal. A name stands here
// if its value chooses how something is built, tested or coloured, and neither names a program to
// be started in the build's own tools nor code to be loaded: so no MAKEFLAGS, RUSTFLAGS, GOFLAGS,
// ASAN_OPTIONS. CC and CXX name a compiler, which has to exist inside as any other program.
std::span<const std::string_view> build_variables();
bool is_build_variable(std::string_view name);
// Whether a value may hold a URL with a user or a password in it (https://user:secret@host/).
// Rather once too often: what follows "://" up to white space counts, whatever a parser takes for
// the end of the host.
bool may_hold_login(std::string_view value);

// Baseline (PATH, HOME, USER, LOGNAME, SHELL, LANG, TERM, TMPDIR, PWD), then `pass`, then `set`.
// Of the credentials of the agent that the run is for, one alone (policy/agents.h). `cwd` is a path
// inside. Sorted "NAME=value" strings.
std::vector<std::string> build_environment(const Effective& effective, const Caller& caller,
                                           const std::string& cwd);

}  // namespace cordon
