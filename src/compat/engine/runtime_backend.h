// The backend oci: an installed OCI runtime as the outer layer of a run. The runtime makes the
// namespaces and the mounts from a bundle that is this run's own; Landlock, the filter, the
// terminal, the broker and the limits are Cordon's, put on by cordon-inside as the container's
// first process and by the supervisor as in every run. Nothing of the command runs before what the
// runtime made was read back.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "sandbox/backend.h"

namespace cordon::engine {

// True for the names that --runtime takes.
bool is_runtime_name(std::string_view name);

// Where one of them is installed; nothing if it is not, or is not to be trusted.
std::optional<std::string> installed_runtime(std::string_view name);

// `runtime` is one of these names; empty: the first of runc and crun that is installed.
std::unique_ptr<Backend> make_runtime_backend(std::string runtime);

}  // namespace cordon::engine
