// Runs that work in one tree at the same time. Each of them surveys the tree while others change
// it, holds protected files where others can take names away, and may be refused for what another
// one does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/survey.h"
#include "run/judge.h"

namespace cordon {

// What other runs made appear is not old. One that wrote its note while this survey was under way
// may have planted something that the survey took for old, so it is made again.
// `asked`: a question about these paths alone (survey_ways).
Result<Survey> survey_beside_others(const Clamped& clamped, const Caller& caller,
                                    const std::optional<std::vector<std::string>>& asked);

// When the note of the run is written: whether a run that began at the same moment, and neither
// knew of the other, could take away what holds a protected file of this one. The file if so:
// judged again, this one does with it what the other does. An error if the two can never agree.
Result<std::optional<std::string>> held_unlike_others(const JudgedRun& run,
                                                      const std::string& run_id);

// `error`, with the other runs of the same tree that may be its cause. `own_id` is not one of them.
// Another run of the same tree can make it one that no run can be started in: thousands of
// protected names, directories that are renamed all the time, a protected file that is replaced
// just now. Whoever is refused for that has to know which process to end.
Error beside_others(Error error, const Caller& caller, const Effective& effective,
                    const std::string& own_id = {});

}  // namespace cordon
