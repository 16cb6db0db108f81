// Where this program lies, for those who are to start it again.
#pragma once

#include <string>

#include "base/result.h"

namespace cordon {

// The absolute path of this program. An error if there is nothing to execute there any more, as
// after an upgrade while it ran.
Result<std::string> own_executable();

}  // namespace cordon
