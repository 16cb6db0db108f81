// The seatbelt backend: runs a command through sandbox-exec, for macOS. Unproven: it never ran
// there. Elsewhere it plans, so that the profile of a policy can be looked at, and starts nothing.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backend/backend.h"

namespace cordon::seatbelt {

std::unique_ptr<Backend> make_backend();
// With a program in the place of sandbox-exec, for tests; none: that of a system without it.
std::unique_ptr<Backend> make_backend_with(std::optional<std::string> program);

}  // namespace cordon::seatbelt
