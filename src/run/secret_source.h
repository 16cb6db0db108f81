// Where the secrets of a run come from. No value of one is ever in the memory of this process,
// which the sandbox's init is a copy of: another process reads it, and hands it to the gate through
// the kernel.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "gate/protocol.h"
#include "policy/effective.h"
#include "policy/host_facts.h"

namespace cordon {

// `plain` with its secrets' values, as the text of a memory file that nobody can write to. The
// sources stand in the order of the secrets.
Result<Fd> sealed_configuration(const gate::Configuration& plain,
                                const std::vector<SecretRule>& sources, const Caller& caller);

// Has the value that the source has now sent over the gate's socket.
Result<void> send_value(int control, const SecretRule& source, const Caller& caller);

// What tells one content of a secret's file from the next; nothing for other sources, and for a
// file that is not there.
std::optional<std::string> stamp_of(const SecretRule& source, const Caller& caller);
// The file of a source; nothing for other sources. Absolute.
std::optional<std::string> file_of(const SecretRule& source, const Caller& caller);
bool is_command(const SecretRule& source);
// The same source with its program by an absolute path, as PATH leads to it now: a program of that
// name that is made later, in a directory before it, is not started.
SecretRule with_program_found(SecretRule source, const Caller& caller);
// What a command's source starts and, of its arguments, the absolute paths; nothing for others.
std::vector<std::string> files_of_command(const SecretRule& source, const Caller& caller);

}  // namespace cordon
