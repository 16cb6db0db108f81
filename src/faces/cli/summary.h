// The account of one run in at most ten lines, for people: `run --summary`.
#pragma once

#include <string>

#include "cordon/runner.h"

namespace cordon {

// Safe to print. Pure.
std::string summary_text(const Report& report);

}  // namespace cordon
