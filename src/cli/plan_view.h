// What --dry-run prints: the plan of a run that was judged and not started.
#pragma once

#include <string>

#include "run/contained_run.h"

namespace cordon {

std::string plan_text(const JudgedRun& run);
// The same as a document, cordon.plan/1.
std::string plan_json(const JudgedRun& run);

}  // namespace cordon
