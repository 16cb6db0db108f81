// The backends that can be chosen by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backend/backend.h"

namespace cordon {

// An unknown name is a usage error; one that is known but not built in is Unsupported. `program` is
// Cordon's own, for a mechanism that runs a part of it inside.
Result<std::unique_ptr<Backend>> make_backend(std::string_view name,
                                              const std::string& program = {});

}  // namespace cordon
