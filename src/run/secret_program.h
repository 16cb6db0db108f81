// The program that tells a secret: `from = "command:..."`.
//
// It is started outside as the caller, and again while the command runs, once the host has refused
// what it told. So nothing that the command can write may lead it. Its own files are checked, with
// what interprets them. What it starts and loads by itself it finds by the caller's variables: with
// "#!/usr/bin/env python3" that is a program on PATH, and modules in PYTHONPATH. Both begin in the
// project while an environment of the project is activated, where the command can put what it
// likes. So those variables are not passed on.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

bool is_command(const SecretRule& source);
Error unreadable_secret(const SecretRule& source, std::string why);

// The same source with its program by an absolute path, as PATH leads to it now: a program of that
// name that is made later, in a directory before it, is not started.
SecretRule with_program_found(SecretRule source, const Caller& caller);

// What the command could change of what a command's source starts: its program, what interprets
// that, and its arguments that are absolute paths.
struct ReplaceablePart {
  std::string file;
  std::string grant;
  bool by_another_name = false;  // a second link, which may lie in the grant
};
std::optional<ReplaceablePart> replaceable_part(const SecretRule& source, const Caller& caller,
                                                const std::vector<Grant>& write);

// The caller's variables, as NAME=VALUE: those of PATH's directories that the command cannot write,
// and no other variable that names a place where it can.
std::vector<std::string> variables_outside(const Caller& caller, const std::vector<Grant>& write);

// What the program says, which begins in "/" with those variables. To be called in a process of its
// own: the value is in the memory of whoever calls.
Result<std::string> told_by_program(const SecretRule& source,
                                    const std::vector<std::string>& variables);

}  // namespace cordon
