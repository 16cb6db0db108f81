// Finding an executor. Nothing is started for it: where a package manager keeps global packages is
// told from where its programs lie.
#pragma once

#include <optional>
#include <string>

#include "policy/host_facts.h"

namespace cordon::mxc {

struct FoundExecutor {
  std::string path;  // absolute, as found
  std::string tier;  // "MXC_BIN_DIR" or "npm"
  bool operator==(const FoundExecutor&) const = default;
};

// MXC_BIN_DIR/<arch>/<name>, then MXC_BIN_DIR/<name>; then the global packages of npm; then none.
// A set MXC_BIN_DIR that has no executor does not stop the search.
std::optional<FoundExecutor> find_executor(const Caller& caller);

}  // namespace cordon::mxc
