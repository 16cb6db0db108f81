// The network of an MXC document, in its two forms: one word with lists of hosts, up to version
// 0.8, and rules by direction, from 0.8 on.
#pragma once

#include "compat/mxc/mxc_read.h"

namespace cordon {

Result<void> read_mxc_network(MxcDocument& document, Policy& policy);

}  // namespace cordon
