// The answers of `cordon doctor`: for a person, as cures alone, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "config/node.h"
#include "faces/doctor/doctor_check.h"

namespace cordon {

// One check of any of these answers.
Node check_node(const Check& check);
std::string doctor_text(const std::vector<Check>& checks);
std::string doctor_hints(const std::vector<Check>& checks);
std::string doctor_json(const HostAccount& account, const std::vector<Check>& checks,
                        const Result<Capabilities>& capabilities);

}  // namespace cordon
