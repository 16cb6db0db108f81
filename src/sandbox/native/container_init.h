// What `cordon-inside confine PLAN` does: it is the first process of a container that another
// program made from an exported plan, checks that the container shows what was judged, puts
// Landlock and the filter on the command, and stays as its init, which holds the wall clock.
#pragma once

#include "plan/plan.h"

namespace cordon::native {

// False if another program mounted something else for this operation of a plan than what was
// judged: by a name that leads elsewhere since, or a mask that does not lie where it belongs.
bool shows_what_was_judged(const Op& operation);

// The word behind `cordon-inside`.
inline constexpr const char* kConfineInside = "confine";

// `plan_file` is what encode_plan() made. No Landlock rule of the plan may name it: that it can be
// read before the restriction and not after it is how the restriction is measured.
//
// Returns the status that the container ends with: the command's, 128+N for a signal, 124 for the
// wall clock, 125 if it was refused, 126 and 127 if the command cannot be executed.
int confine_in_container(const char* plan_file);

}  // namespace cordon::native
