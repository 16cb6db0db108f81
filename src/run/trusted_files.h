// Files outside by which Cordon decides, or which it starts or reads for a run: the documents of
// its policy and ceilings, the programs and files that its secrets come from. A command that could
// change one of them would decide about its next run, have a program started outside, or read a
// secret; such a run is refused.
#pragma once

#include <vector>

#include "base/result.h"
#include "policy/clamp.h"
#include "policy/host_facts.h"

namespace cordon {

// No policy file or ceiling may be what the command can write or put something else in the place
// of.
Result<void> refuse_writable_sources(const Clamped& clamped, const Policy& policy,
                                     const std::vector<Ceiling>& ceilings, const Caller& caller);

// The program that tells a secret may not be what the command can replace, and the file of one not
// what it can read.
Result<void> check_secrets(const Clamped& clamped, const HostFacts& facts, const Caller& caller);

}  // namespace cordon
