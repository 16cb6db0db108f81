// Why: what a run asked for and was not given, with the rule that decides and a change that works.
// Paths are known of a run that was watched (egress/path_watch.h), connections and names of every
// run that has a broker. Each is answered as `policy explain` answers: there is no second opinion.
#pragma once

#include <cstdint>
#include <vector>

#include "egress/path_watch.h"
#include "run/gate.h"
#include "run/judge.h"

namespace cordon {

// What the watch of a run goes by: the plan that the sandbox is built from.
PathWatch::Refuses refused_by(const Plan& plan);

// What a watch found, as denials. Left out is what would have failed without Cordon as well: what
// is not there on the host, or is closed to the caller. A watch tells what was asked for and not
// what came of it, so none of them is certain.
std::vector<Denial> path_denials(const RunInput& input, const JudgedRun& run,
                                 const std::vector<RefusedPath>& refused, std::uint64_t untold);

// Of a write to `place`, which is hidden below a private place: it would be made there, and gone
// with the run. What was named is the host's: told is what hides it, and what lets it be written.
Result<Explanation> explain_hidden_place(const RunInput& input, const std::string& place,
                                         const Caller& caller);

// Completes what the broker refused with a change that would permit it.
void advise_connections(const RunInput& input, const JudgedRun& run, std::vector<Denial>& denials);
// The same of requests that the gate refused by their method and path.
void advise_requests(const RunInput& input, const JudgedRun& run,
                     std::vector<Gate::Refused>& refused);

}  // namespace cordon
