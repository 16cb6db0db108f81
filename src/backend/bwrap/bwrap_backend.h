// The bwrap backend: the outer layer by the installed bubblewrap, everything inside by Cordon.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace cordon::bwrap {

std::unique_ptr<Backend> make_backend();

}  // namespace cordon::bwrap
