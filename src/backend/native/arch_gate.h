// The beginning of every filter: calls of a foreign architecture (and of x32) kill the process
// before any number is compared, because the same number means another call there.
#pragma once

#include <vector>

#include "backend/native/bpf_assembler.h"
#include "backend/native/syscall_table.h"

namespace cordon {

// The finished program: the gate, then `search` with the number in the accumulator.
std::vector<sock_filter> behind_arch_gate(BpfAssembler& assembler, Arch arch, BpfLabel search);

}  // namespace cordon
