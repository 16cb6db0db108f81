// The environment of a command, built from nothing.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

// LD_*, GLIBC_TUNABLES: names nobody may set, not even on the command line.
bool is_loader_variable(std::string_view name);
// Names a request from a model or a library may never set: loader names and interpreter injection
// (DYLD_*, PYTHON*, NODE_OPTIONS, BASH_ENV, IFS, GIT_*, PERL5OPT, ...).
bool is_injection_variable(std::string_view name);
bool is_valid_variable_name(std::string_view name);

// Baseline (PATH, HOME, USER, LOGNAME, SHELL, LANG, TERM, TMPDIR, PWD), then `pass`, then `set`.
// Of the credentials of the agent that the run is for, one alone (policy/agents.h). `cwd` is a path
// inside. Sorted "NAME=value" strings.
std::vector<std::string> build_environment(const Effective& effective, const Caller& caller,
                                           const std::string& cwd);

}  // namespace cordon
