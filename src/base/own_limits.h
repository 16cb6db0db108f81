// Limits that whoever starts Cordon has set for it, and that would end it by a signal: without a
// word, and with a status that looks like the command's.
#pragma once

#include <optional>

#include "cordon/error.h"

namespace cordon {

// A write past `ulimit -f` fails with EFBIG from now on, instead of ending this process. Not in
// what it starts: a handler, unlike an ignored signal, is not inherited.
void meet_file_size_limit();

// A stack (`ulimit -s`) on which this process, or a thread of it, could meet the guard page. To be
// asked before anything else is done.
std::optional<Error> refuse_small_stack();

}  // namespace cordon
