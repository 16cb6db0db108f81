// Result<T>: a value or the Error that explains why there is none. Nothing of ours is thrown.
#pragma once

#include <tl/expected.hpp>
#include <utility>

#include "cordon/error.h"

namespace cordon {

// A value, or the Error that explains why there is none.
template <typename T>
using Result = tl::expected<T, Error>;

// What a function returns instead of a value.
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace cordon
