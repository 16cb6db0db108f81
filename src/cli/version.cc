#include "cli/proven.h"
#include "cli/verbs.h"
#include "cordon/runner.h"

namespace cordon {
namespace {

#if defined(__aarch64__)
constexpr std::string_view kArchitecture = "aarch64";
#elif defined(__x86_64__)
constexpr std::string_view kArchitecture = "x86_64";
#else
#error "Cordon knows the system calls of aarch64 and x86_64 only"
#endif

std::string_view proof(bool proven) {
  return proven ? "proven" : "unproven: no suite ran on a machine that has it";
}

std::string machine_line(const ProvenMachine& machine) {
  std::string line = "proven on: ";
  line.append(machine.architecture).append(", Linux ").append(machine.kernel);
  line.append(", Landlock ABI ").append(std::to_string(machine.landlock_abi));
  line.append(", cgroup v").append(std::to_string(machine.cgroup_version));
  line.append(": ").append(std::to_string(machine.cases)).append(" cases, ");
  line.append(machine.date.substr(0, 10)).append(", commit ").append(machine.commit.substr(0, 12));
  return line + "\n";
}

}  // namespace

std::string version_line() { return "cordon " + std::string(version()) + "\n"; }

std::string version_details() {
  std::string text = version_line();
  text.append("architecture: ").append(kArchitecture).append(" (");
  text.append(proof(architecture_is_proven(kArchitecture))).append(")\n");
  text.append("backends: native, bwrap, landlock, mxc\n");
  for (const int cgroup : {1, 2}) {
    text.append("cgroup v").append(std::to_string(cgroup)).append(": ");
    text.append(proof(cgroup_is_proven(cgroup))).append("\n");
  }
  for (const ProvenMachine& machine : proven_machines()) text.append(machine_line(machine));
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
