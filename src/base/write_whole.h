// write_whole: write(2) until everything is written.
#pragma once

#include <string_view>

namespace cordon {

// 0, or the errno of the write that failed; what was written before it stays written. A signal does
// not end it, and a write that takes nothing counts as EIO. Async-signal-safe; allocates nothing.
int write_whole(int fd, std::string_view bytes);

}  // namespace cordon
