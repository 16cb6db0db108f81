// Output of a command that did not reach the caller: a full disk, a reader that is gone, one that
// pauses for too long. The run tells it as a denial of the layer "relay".
#pragma once

#include <optional>
#include <string>

#include "cordon/outcome.h"

namespace cordon {

// `error` is the errno of the write, or ETIMEDOUT if nobody took what was left.
Denial lost_output(int error);
// A command whose output did not arrive has not succeeded, whether it noticed or not.
End end_with_lost_output(const End& end);
// "cannot write the command's output: No space left on device"; nothing for other denials, and
// nothing for a reader that has gone, who does not want to hear why.
std::optional<std::string> lost_output_message(const Denial& denial);
// True for the denial that lost_output() makes.
bool is_lost_output(const Denial& denial);

}  // namespace cordon
