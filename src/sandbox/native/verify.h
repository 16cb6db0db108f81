// Comparing what was read back from inside a sandbox with what its plan promises.
#pragma once

#include <array>
#include <cstdint>

#include "base/result.h"
#include "cordon/outcome.h"
#include "plan/plan.h"
#include "sandbox/native/protocol.h"

namespace cordon::native {

// The enforcement of a report, every flag from evidence. Anything the plan promises and the sandbox
// does not show is a Setup error that names the layer: then the command must not be released.
Result<Enforcement> verify(const Plan& plan, const Measured& measured,
                           const NamespaceIds& outside_namespaces);

// The same of a first process that another program started, before it does anything: it is in
// namespaces of its own and sees a root of its own.
Result<void> verify_begun(const Plan& plan, const Measured& measured,
                          const NamespaceIds& outside_namespaces);

// Reading back, from inside, that every mount of a plan is there and says what was planned.
// No allocation.

// Counts what was checked and keeps the index of the first mount that is not as planned. Call when
// all of Plan::build is done; sealing changes the root's own mount alone. Leaves errno alone.
void measure_mounts(const Plan& plan, Measured& measured);

}  // namespace cordon::native
