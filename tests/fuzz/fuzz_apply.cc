// The policy of `cordon apply`: refused, or one that is the same when it is written and read again,
// and whose filter the kernel would take and which lets a command start.
#include <linux/audit.h>
#include <linux/seccomp.h>

#include <cstddef>
#include <string>

#include "compat/safeclaw/apply/prepare.h"
#include "require_that.h"
#include "sandbox/native/bpf_assembler.h"
#include "sandbox/native/seccomp_filter.h"
#include "support/bpf_interpreter.h"

namespace {

void check_filter(const cordon::SafeClawPolicy& policy, cordon::Arch arch, std::uint32_t token) {
  const auto named = cordon::apply::resolve_calls(policy.syscalls, arch);
  if (!named) {
    cordon::require_that(!named.error().text.empty());
    return;
  }
  const auto filter =
      cordon::compile_listed_filter(arch, named->calls, cordon::ListedSockets::None);
  cordon::check_bpf_program(filter);
  seccomp_data data{};
  data.arch = token;
  data.nr = *cordon::find_syscall("execve")->number(arch);
  cordon::require_that(cordon::BpfInterpreter(filter).run(data) == SECCOMP_RET_ALLOW);
  data.nr = *cordon::find_syscall("ptrace")->number(arch);
  cordon::require_that(cordon::BpfInterpreter(filter).run(data) == SECCOMP_RET_KILL_PROCESS);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto policy = cordon::apply::parse_policy(std::string(data, data + size), "fuzz.json");
  if (!policy) {
    cordon::require_that(!policy.error().text.empty() &&
                         policy.error().text.find('\n') == std::string::npos);
    return 0;
  }
  const auto again = cordon::apply::parse_policy(
      write_json(cordon::encode_safeclaw(*policy), cordon::JsonStyle::Compact), "fuzz.json");
  cordon::require_that(again && again->allow == policy->allow && again->deny == policy->deny &&
                       again->syscalls == policy->syscalls);
  check_filter(*policy, cordon::Arch::Aarch64, AUDIT_ARCH_AARCH64);
  check_filter(*policy, cordon::Arch::X86_64, AUDIT_ARCH_X86_64);
  return 0;
}
