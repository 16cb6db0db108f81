// Every backend there is: Cordon's own, and those that drive another tool.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policy/host_facts.h"
#include "sandbox/backend.h"

namespace cordon {

// `program` is the one that calls, as it can be executed again: a foreign executor runs a part of
// Cordon inside. Empty: `cordon`, if the caller is one of the programs beside it. `runtime` is that
// of the backend oci; empty: the first that is installed.
MakeBackend every_backend(const Caller& caller, std::string program = {}, std::string runtime = {});
// True for what --runtime takes.
bool is_oci_runtime(std::string_view name);
// Where an OCI runtime is installed that the backend oci would start; nothing if there is none.
std::optional<std::string> installed_oci_runtime(std::string_view name);

}  // namespace cordon
