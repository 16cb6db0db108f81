#include "backend/native/arch_gate.h"

#include <linux/audit.h>
#include <linux/seccomp.h>

#include <cstddef>

namespace cordon {
namespace {

constexpr std::uint32_t kX32Bit = 0x40000000;

std::uint32_t audit_token(Arch arch) {
  switch (arch) {
    case Arch::Aarch64:
      return AUDIT_ARCH_AARCH64;
    case Arch::X86_64:
      return AUDIT_ARCH_X86_64;
  }
  return 0;
}

BpfLabel write_number_check(BpfAssembler& assembler, Arch arch, BpfLabel search, BpfLabel kill) {
  switch (arch) {
    case Arch::Aarch64:
      return search;
    case Arch::X86_64:
      // x32 calls carry the same architecture token and other numbers.
      return assembler.if_any_bit(kX32Bit, kill, search);
  }
  return kill;
}

}  // namespace

std::vector<sock_filter> behind_arch_gate(BpfAssembler& assembler, Arch arch, BpfLabel search) {
  const BpfLabel kill = assembler.give(SECCOMP_RET_KILL_PROCESS);
  const BpfLabel number =
      assembler.load(offsetof(seccomp_data, nr), write_number_check(assembler, arch, search, kill));
  return assembler.finish(assembler.load(offsetof(seccomp_data, arch),
                                         assembler.if_equal(audit_token(arch), number, kill)));
}

}  // namespace cordon
