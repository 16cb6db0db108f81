// The answers of cordon/answers.h to a run that is described and not started. Runner and the verbs
// of the command line both come here, so that neither says what the other does not.
#pragma once

#include <string>
#include <vector>

#include "config/node.h"
#include "cordon/answers.h"
#include "cordon/error.h"
#include "cordon/loss.h"
#include "cordon/outcome.h"
#include "run/line.h"

namespace cordon {

// Of `input` the policy and the ceilings count. `also`: what was taken away before.
Result<ClampAnswer> clamp_answer(const RunInput& input, const Caller& caller,
                                 const std::vector<Reduction>& also = {});
// Of `input` the policy, the ceilings and the backend count. The host is asked what works.
Result<Explanation> explain_access(const RunInput& input, const Question& question,
                                   const Caller& caller);
Result<PlanAnswer> plan_answer(const RunInput& input, const Caller& caller,
                               const std::vector<Reduction>& also = {});

// Pieces of JSON that several answers share.

Node reductions_list(const std::vector<Reduction>& reductions);
Node error_object(const Error& error);
// Their names.
Node loss_list(const std::vector<Loss>& lost);
Node text_list(const std::vector<std::string>& texts);

}  // namespace cordon
