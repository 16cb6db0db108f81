#include "backend/mxc/platform.h"

#include "backend/mxc/orders.h"
#include "base/text.h"

namespace cordon::mxc {

std::string_view executor_name(System system) {
  switch (system) {
    case System::Linux:
      return "lxc-exec";
    case System::MacOs:
      return "mxc-exec-mac";
    case System::Windows:
      return "wxc-exec.exe";
  }
  return "";
}

std::string arch_word(System system, std::string_view machine) {
  std::string word = lower_case(machine);
  if (word == "arm64" || word == "aarch64") return "arm64";
  if (word == "amd64" || word == "x86_64" || word == "x64") {
    return system == System::Windows ? "x64" : "x86_64";
  }
  return word;
}

std::string pin_key(System system, std::string_view machine) {
  std::string_view platform;
  switch (system) {
    case System::Linux:
      platform = "linux-";
      break;
    case System::MacOs:
      platform = "darwin-";
      break;
    case System::Windows:
      platform = "win32-";
      break;
  }
  return std::string(platform) + arch_word(system, machine);
}

std::vector<std::string> arch_directories(System system, std::string_view machine) {
  std::vector<std::string> words{arch_word(system, machine)};
  if (words.front() == "x86_64") words.emplace_back("x64");
  return words;
}

Call executor_call(System system) {
  const std::string name(executor_name(system));
  switch (system) {
    case System::Linux:
      return {{name, "--config", "/proc/self/fd/" + std::to_string(kDocumentFd)},
              Delivery::Descriptor};
    case System::MacOs:
      return {{name, "--experimental"}, Delivery::StandardInput};
    case System::Windows:
      return {{name, "--config-base64"}, Delivery::CommandLine};
  }
  return {};
}

System own_system() { return System::Linux; }

std::string_view own_machine() {
#if defined(__aarch64__)
  return "aarch64";
#elif defined(__x86_64__)
  return "x86_64";
#else
#error "Cordon knows the executors of aarch64 and x86_64 only"
#endif
}

}  // namespace cordon::mxc
