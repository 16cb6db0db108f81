// A system call that leaves errno alone.
//
// Between clone and exec the command's process shares its memory with the sandbox's first process,
// errno included (sandbox/native/sandbox_init.cc). Two processes that set one errno would read each
// other's failures. What one of them calls while the other may fail goes through here.
#pragma once

#include <type_traits>

namespace cordon::sys {

template <typename T>
long raw_argument(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<long>(value);
  } else {
    return static_cast<long>(value);
  }
}

// What the kernel answered: failure is -errno. Async-signal-safe.
template <typename First, typename Second = long, typename Third = long, typename Fourth = long,
          typename Fifth = long>
long raw_call(long number, First first, Second second = 0, Third third = 0, Fourth fourth = 0,
              Fifth fifth = 0) {
  // A call in between could use the registers: all of them are computed before the first is filled.
  const long first_value = raw_argument(first);
  const long second_value = raw_argument(second);
  const long third_value = raw_argument(third);
  const long fourth_value = raw_argument(fourth);
  const long fifth_value = raw_argument(fifth);
#if defined(__aarch64__)
  register long call asm("x8") = number;
  register long result asm("x0") = first_value;
  register long argument2 asm("x1") = second_value;
  register long argument3 asm("x2") = third_value;
  register long argument4 asm("x3") = fourth_value;
  register long argument5 asm("x4") = fifth_value;
  asm volatile("svc 0"
               : "+r"(result)
               : "r"(call), "r"(argument2), "r"(argument3), "r"(argument4), "r"(argument5)
               : "memory");
  return result;
#elif defined(__x86_64__)
  long result = number;
  register long argument4 asm("r10") = fourth_value;
  register long argument5 asm("r8") = fifth_value;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(first_value), "S"(second_value), "d"(third_value), "r"(argument4),
                 "r"(argument5)
               : "rcx", "r11", "memory");
  return result;
#else
#error "a system call without errno for this architecture"
#endif
}

}  // namespace cordon::sys
