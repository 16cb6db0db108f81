// The path lists of an MXC document: what may be read, what may be written, and what is denied.
#pragma once

#include "compat/mxc/mxc_read.h"

namespace cordon {

Result<void> read_mxc_filesystem(MxcDocument& document, const Places& places, Policy& policy);

}  // namespace cordon
