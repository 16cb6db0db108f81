#include "omitted_layer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace cordon::omitted {
namespace {

constexpr std::array<std::pair<std::string_view, OmittedLayer>, 21> kNames{{
    {"pivot_root", OmittedLayer::PivotRoot},
    {"mounts", OmittedLayer::Mounts},
    {"read_only", OmittedLayer::ReadOnly},
    {"nosuid", OmittedLayer::NoSuid},
    {"masks", OmittedLayer::Masks},
    {"holds", OmittedLayer::Holds},
    {"landlock", OmittedLayer::Landlock},
    {"seccomp", OmittedLayer::Seccomp},
    {"broker", OmittedLayer::Broker},
    {"capabilities", OmittedLayer::Capabilities},
    {"bounding", OmittedLayer::Bounding},
    {"no_new_privs", OmittedLayer::NoNewPrivileges},
    {"rlimits", OmittedLayer::ResourceLimits},
    {"cgroups", OmittedLayer::Cgroups},
    {"user_ns", OmittedLayer::User},
    {"mount_ns", OmittedLayer::Mount},
    {"pid_ns", OmittedLayer::Pid},
    {"network_ns", OmittedLayer::Network},
    {"ipc_ns", OmittedLayer::Ipc},
    {"uts_ns", OmittedLayer::Uts},
    {"cgroup_ns", OmittedLayer::Cgroup},
}};

[[noreturn]] void refuse(const std::string& why) {
  const std::string line = "test build: " + why + "\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
  ::_exit(125);
}

std::uint32_t bit(OmittedLayer layer) { return 1U << static_cast<std::uint32_t>(layer); }

std::uint32_t layers_of_environment() {
  const char* value = std::getenv("CORDON_OMIT");
  std::string_view rest = value == nullptr ? "" : value;
  std::uint32_t layers = 0;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find(','));
    rest.remove_prefix(word.size() < rest.size() ? word.size() + 1 : rest.size());
    std::uint32_t found = 0;
    for (const auto& [name, layer] : kNames) found |= name == word ? bit(layer) : 0;
    if (found == 0) refuse("there is no layer " + std::string(word));
    layers |= found;
  }
  return layers;
}

// The kernel gives these of the first namespaces fixed numbers (PROC_IPC_INIT_INO and so on).
bool is_first(const char* file, ino_t number) {
  struct stat status {};
  return ::stat(file, &status) < 0 || status.st_ino == number;
}

bool among_the_machines_own() {
  return is_first("/proc/self/ns/ipc", 0xEFFFFFFF) || is_first("/proc/self/ns/uts", 0xEFFFFFFE) ||
         is_first("/proc/self/ns/user", 0xEFFFFFFD) || is_first("/proc/self/ns/pid", 0xEFFFFFFC);
}

}  // namespace

bool leaves_out(OmittedLayer layer) {
  // First asked by the supervisor, so that its copies need not allocate.
  static const std::uint32_t layers = layers_of_environment();
  return (layers & bit(layer)) != 0;
}

void refuse_to_change_the_host() {
  const bool changes = leaves_out(OmittedLayer::User) || leaves_out(OmittedLayer::Mount);
  if (changes && among_the_machines_own()) refuse("nothing is left out in namespaces of the host");
}

bool accepts_omission() {
  static const bool accepts = [] {
    if (std::getenv("CORDON_OMIT_ACCEPT") == nullptr) return false;
    if (among_the_machines_own()) refuse("nothing is left out in namespaces of the host");
    return true;
  }();
  return accepts;
}

}  // namespace cordon::omitted
