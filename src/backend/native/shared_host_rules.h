// What a filter answers differently where a sandbox has no namespaces of its own. Landlock judges
// opening, making and removing files, signals and tracing; it does not judge who changes a file's
// mode, times, owner or attributes, who watches a directory, or who changes another process's
// limits. There the namespaces of the native backend hold, and here the filter must.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/native/argument_rules.h"

namespace cordon {

struct SharedHostRule {
  std::uint32_t number;  // of the call
  BpfLabel target;
};

// These take the place of the table's decisions. Changing a mode, a time or an owner is asked of
// the broker; without one it is refused.
std::vector<SharedHostRule> write_shared_host_rules(BpfAssembler& assembler, Arch arch,
                                                    const Verdicts& verdicts,
                                                    const FilterProfile& profile);

}  // namespace cordon
