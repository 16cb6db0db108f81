// The three streams every program is started with, if whoever started it was polite.
#pragma once

namespace cordon {

// A missing 0, 1 or 2 would be taken by the next file that is opened, and a report or a command's
// stream would be written into it. Opens what is missing; false if that cannot be done.
bool open_standard_streams();

}  // namespace cordon
