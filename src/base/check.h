// CORDON_BUG: a broken invariant. It ends the process: going on would run with a boundary nobody
// has reasoned about.
#pragma once

namespace cordon::detail {
[[noreturn]] void bug(const char* file, int line, const char* what);
}  // namespace cordon::detail

#define CORDON_BUG(what) ::cordon::detail::bug(__FILE__, __LINE__, what)
#define CORDON_ASSERT(condition)              \
  do {                                        \
    if (!(condition)) CORDON_BUG(#condition); \
  } while (false)
