// What a start does for runs whose supervisor was killed, before it looks at anything itself.
#pragma once

#include <vector>

#include "cordon/outcome.h"
#include "host/caller.h"

namespace cordon {

// Cleans up after runs whose supervisor was killed: empties their cgroups, removes their private
// directories, puts back what was kept of protected files, moves those that appeared out of the
// tree. Returns what was moved, and one entry for each run whose files could not be dealt with; its
// note is kept. So is one that cannot be read, or whose recovery twice ended Cordon: that must not
// end every later start as well.
std::vector<Quarantined> recover_runs(const Caller& caller);

}  // namespace cordon
