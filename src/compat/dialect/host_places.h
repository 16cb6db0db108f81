// Places: where a foreign document is read, as the host has it.
#pragma once

#include "compat/dialect/dialect.h"
#include "policy/host_facts.h"

namespace cordon {

// `caller` outlives the answer.
Places places_of(const Caller& caller);

}  // namespace cordon
