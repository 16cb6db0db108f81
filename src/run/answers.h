// The answers of cordon/answers.h to a run that is described and not started. Runner and the verbs
// of the command line both come here, so that neither says what the other does not.
#pragma once

#include "cordon/answers.h"
#include "run/contained_run.h"

namespace cordon {

// Of `input` the policy and the ceilings count. `also`: what was taken away before.
Result<ClampAnswer> clamp_answer(const RunInput& input, const Caller& caller,
                                 const std::vector<Reduction>& also = {});
// Of `input` the policy, the ceilings and the backend count. The host is asked what works.
Result<Explanation> explain_access(const RunInput& input, const Question& question,
                                   const Caller& caller);
Result<PlanAnswer> plan_answer(const RunInput& input, const Caller& caller,
                               const std::vector<Reduction>& also = {});

}  // namespace cordon
