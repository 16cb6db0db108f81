// Cordon's own backends, made by kind. Those that speak another tool's language are in compat/.
#pragma once

#include <memory>

#include "sandbox/backend.h"

namespace cordon {

Result<std::unique_ptr<Backend>> make_backend(BackendKind kind);

}  // namespace cordon
