// Every backend there is: Cordon's own, and those that drive another tool.
#pragma once

#include <string>

#include "policy/host_facts.h"
#include "sandbox/backend.h"

namespace cordon {

// `program` is the one that calls, as it can be executed again: a foreign executor runs a part of
// Cordon inside. Empty: `cordon`, if the caller is one of the programs beside it.
MakeBackend every_backend(const Caller& caller, std::string program = {});

}  // namespace cordon
