#include "cli/verbs.h"
#include "cordon/runner.h"

namespace cordon {

std::string version_line() { return "cordon " + std::string(version()) + "\n"; }

std::string version_details() {
#if defined(__aarch64__)
  constexpr std::string_view kArchitecture = "aarch64";
  constexpr std::string_view kProof = "proven: the test suite runs on it";
#elif defined(__x86_64__)
  constexpr std::string_view kArchitecture = "x86_64";
  constexpr std::string_view kProof =
      "unproven: the system-call filter is evaluated by an interpreter in tests, nothing was run";
#else
#error "Cordon knows the system calls of aarch64 and x86_64 only"
#endif
  std::string text = version_line();
  text.append("architecture: ").append(kArchitecture).append(" (").append(kProof).append(")\n");
  text.append("backends: native, bwrap, landlock, mxc\n");
  text.append("cgroup v1: proven\n");
  text.append("cgroup v2: unproven: never run on a host that has it\n");
#if defined(__aarch64__)
  text.append("mxc: proven with lxc-exec 0.8.0\n");
#else
  text.append("mxc: unproven: its executor was never run on this architecture\n");
#endif
  text.append("seatbelt: unproven: no profile was ever loaded by macOS\n");
  text.append("processcontainer command lines: unproven: never run by Windows\n");
  return text;
}

}  // namespace cordon
