// The backends, made by kind.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"

namespace cordon {

// One that is known but not built in is Unsupported. `program` is Cordon's own, for a backend that
// runs a part of it inside.
Result<std::unique_ptr<Backend>> make_backend(BackendKind kind, const std::string& program = {});

}  // namespace cordon
