#include "backend/mxc/find.h"

#include <unistd.h>

#include "backend/mxc/platform.h"
#include "base/path.h"
#include "host/look.h"
#include "host/on_path.h"

namespace cordon::mxc {
namespace {

constexpr std::string_view kPackage = "@microsoft/mxc-sdk";

// An executable regular file; a link to one counts.
bool is_program(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> below(const std::string& directory, bool plain) {
  const std::string name(executor_name(own_system()));
  for (const std::string& arch : arch_directories(own_system(), own_machine())) {
    std::string path = join(join(directory, arch), name);
    if (is_program(path)) return path;
  }
  std::string path = join(directory, name);
  if (plain && is_program(path)) return path;
  return std::nullopt;
}

std::string variable(const Caller& caller, const std::string& name) {
  const auto found = caller.environment.find(name);
  return found == caller.environment.end() ? std::string() : found->second;
}

// PREFIX/lib/node_modules, where PREFIX/bin has the programs.
std::vector<std::string> global_packages(const Caller& caller) {
  std::vector<std::string> prefixes;
  for (const char* name : {"npm_config_prefix", "NPM_CONFIG_PREFIX"}) {
    prefixes.push_back(variable(caller, name));
  }
  for (const char* program : {"npm", "node"}) {
    const std::string path = on_path(program, caller);
    if (!path.empty()) prefixes.emplace_back(parent(parent(path)));
  }
  prefixes.emplace_back("/usr/local");
  prefixes.emplace_back("/usr");
  std::vector<std::string> directories;
  for (const std::string& prefix : prefixes) {
    if (prefix.starts_with('/')) directories.push_back(join(prefix, "lib/node_modules"));
  }
  return directories;
}

}  // namespace

std::optional<FoundExecutor> find_executor(const Caller& caller) {
  const std::string named = variable(caller, "MXC_BIN_DIR");
  if (named.starts_with('/')) {
    if (auto path = below(normalize(named), true)) return FoundExecutor{*path, "MXC_BIN_DIR"};
  }
  for (const std::string& packages : global_packages(caller)) {
    if (auto path = below(join(join(packages, kPackage), "bin"), false)) {
      return FoundExecutor{*path, "npm"};
    }
  }
  return std::nullopt;
}

}  // namespace cordon::mxc
