// One codec for plans that another process carries out: the init that bubblewrap executes, and the
// program inside a foreign executor. A new operation or a new member of one does not compile until
// it is handed over too.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plan/plan.h"

namespace cordon {

// What is carried out or checked inside: build, confine, seal, limits, cwd, argv, candidates and
// environment. Numbers are those of this machine: both ends are one release of Cordon.
std::string encode_plan(const Plan& plan);
// Nothing unless the text is exactly what encode_plan() makes, without a zero byte in a text that
// becomes an argument of a system call.
std::optional<Plan> decode_plan(std::string_view text);

}  // namespace cordon
