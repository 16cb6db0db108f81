// The guard: parent of a sandbox's first process where there is no pid namespace. When the first
// process ends, or the supervisor does, it kills whatever descends from them and reaps it, as the
// kernel does with a pid namespace. No allocation, no lock, no return.
#pragma once

#include "backend/native/first_process.h"

namespace cordon::landlock {

[[noreturn]] void guarded_first_process(const native::Prepared& prepared,
                                        const native::FirstProcessFds& fds);

}  // namespace cordon::landlock
