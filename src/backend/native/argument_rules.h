// The rules that look at a call's arguments, as blocks of a BPF program. A pointer cannot be
// followed, so only scalars are judged; of those only the low 32 bits, because the kernel takes
// these arguments as int: with high bits set an equality test on all 64 would miss.
#pragma once

#include "backend/native/bpf_assembler.h"
#include "backend/native/filter_profile.h"
#include "backend/native/syscall_table.h"

namespace cordon {

// The answers every block may jump to.
struct Verdicts {
  BpfLabel allow;
  BpfLabel refuse;
  BpfLabel absent;
  BpfLabel no_such_family;
  BpfLabel broker;  // the supervisor's answer if there is a broker, else allow
};

Verdicts write_verdicts(BpfAssembler& assembler, const FilterProfile& profile);

// Writes the block of one decision; the plain decisions are verdicts already and write nothing.
BpfLabel write_rule(BpfAssembler& assembler, Decision decision, const Verdicts& verdicts,
                    const FilterProfile& profile);

}  // namespace cordon
