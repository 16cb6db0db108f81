// The backends, made by kind and found by name.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "backend/backend.h"
#include "host/owner.h"

namespace cordon {

// One that is known but not built in is Unsupported. `program` is Cordon's own, for a backend that
// runs a part of it inside.
Result<std::unique_ptr<Backend>> make_backend(BackendKind kind, const std::string& program = {});

// The `cordon` that a backend can run inside: the one that is given, or the one that the caller's
// program belongs to. Empty: there is none, as in a program that embeds the library.
std::string program_inside(const std::string& given, const Caller& caller);

// Whom a command of root's can be made to run as.
IdentityMapping identity_mapping(BackendKind kind);

// An unknown name is a usage error.
Result<BackendKind> parse_backend(std::string_view name);

}  // namespace cordon
