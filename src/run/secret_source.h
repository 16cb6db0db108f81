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

// Who reads them: the caller, and the variables that the programs of secrets are started with.
struct SecretReader {
  Caller caller;
  std::vector<std::string> variables;
};

// `plain` with its secrets' values, as the text of a memory file that nobody can write to. The
// sources stand in the order of the secrets.
Result<Fd> sealed_configuration(const gate::Configuration& plain,
                                const std::vector<SecretRule>& sources, const SecretReader& reader);

// Has the value that the source has now sent over the gate's socket.
Result<void> send_value(int control, const SecretRule& source, const SecretReader& reader);

// What tells one content of a secret's file from the next; nothing for other sources, and for a
// file that is not there.
std::optional<std::string> stamp_of(const SecretRule& source, const Caller& caller);
// The file of a source; nothing for other sources. Absolute.
std::optional<std::string> file_of(const SecretRule& source, const Caller& caller);

}  // namespace cordon
