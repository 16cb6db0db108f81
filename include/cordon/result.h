// Result<T>: a value or the Error that explains why there is none. Nothing of ours is thrown.
#pragma once

#include <tl/expected.hpp>

#include "cordon/error.h"

namespace cordon {

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace cordon

// Evaluates an expression of type Result<T>; returns its error, or declares `name` with its value.
#define CORDON_TRY(name, expression)                                                    \
  auto name##_or_error = (expression);                                                  \
  if (!name##_or_error) return tl::make_unexpected(std::move(name##_or_error).error()); \
  auto name = std::move(*name##_or_error)
// The same for Result<void>, or where the value is not wanted.
#define CORDON_CHECK(expression)                                                            \
  do {                                                                                      \
    auto checked_or_error = (expression);                                                   \
    if (!checked_or_error) return tl::make_unexpected(std::move(checked_or_error).error()); \
  } while (false)
