// Refused calls: system calls that the filter answers "Operation not permitted" whatever a policy
// says, and which ordinary programs make. A number is all that the command gets, and the filter
// tells nobody, so that arguments and messages are searched for them. Text alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cordon/outcome.h"

namespace cordon {

// "g+s", "u=rwxs", "2775", "rwxr-sr-x": a mode with the setuid or the setgid bit.
bool is_owners_mode(std::string_view word);

// Whether a program that sets modes is among the words of the command.
bool sets_modes(const std::vector<std::string>& argv);
// What is told of such a mode.
Hint refused_owners_mode();

// What a command that failed seems to have failed of, each once: `access` is "call".
std::vector<Hint> refused_calls_in(const std::vector<std::string>& argv,
                                   const std::vector<std::string>& messages);

}  // namespace cordon
