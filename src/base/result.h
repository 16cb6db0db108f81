// CORDON_TRY and CORDON_CHECK: passing an error on in one line. They are for Cordon's own sources:
// a program that embeds the library gets no macro from its headers.
#pragma once

#include "cordon/result.h"

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
