// A cordon that was started inside a Cordon sandbox. No sandbox can be made there, and each call
// that would be needed fails in a way of its own; the reason is the same for all of them.
#pragma once

#include "base/result.h"
#include "policy/host_facts.h"

namespace cordon {

// True inside a sandbox of Cordon's. The filter there answers openat2 with ENOSYS, and the host
// name, or the private directories of the backend `landlock`, are those that only Cordon gives. A
// sign is needed beside the filter's answer, since other sandboxes refuse openat2 too.
bool is_inside_cordon(const Caller& caller);

Result<void> refuse_nesting(const Caller& caller);

}  // namespace cordon
