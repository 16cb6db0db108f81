// The backend that drives a pinned MXC executor.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"

namespace cordon::mxc {

// `program` is Cordon's own, which runs inside before the command; empty where there is none, as in
// somebody else's program that links the library: then every plan is refused.
std::unique_ptr<Backend> make_mxc_backend(std::string program);

}  // namespace cordon::mxc
