// Local sockets that give away more than a connection: whoever may talk to them can start programs
// outside, use keys, or watch the person at the screen. Listing one is the operator's choice; it is
// told what the choice means.
#pragma once

#include <string>
#include <string_view>

#include "policy/decide.h"

namespace cordon {

// Why listing it gives the host away; empty if nothing is known of it. By spelling alone.
std::string_view danger_of_socket(std::string_view path);

// May a run connect to this socket of the host? `lexical` and `path` are names of one file.
Verdict decide_socket(const Effective& effective, std::string_view lexical, std::string_view path);

}  // namespace cordon
