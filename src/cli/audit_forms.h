// Actions in the forms of other programs. Each form is one table.
#pragma once

#include <string>

#include "audit/index.h"

namespace cordon {

std::string csv_header();
std::string csv_row(const audit::Event& event);  // RFC 4180, with its line end
// OCSF 1.4, class Process Activity (1007), activity Launch. `host` names the device.
Node ocsf_event(const audit::Event& event, const std::string& host);

}  // namespace cordon
