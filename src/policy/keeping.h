// Keeping: what a mechanism without mounts cannot hold. The content is kept before the run and put
// back afterwards.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "policy/effective.h"
#include "policy/protected_names.h"

namespace cordon {

// A protected object in a writable grant.
struct KeptPath {
  enum class Form : std::uint8_t { File, Tree, GitConfig };
  std::string path;
  HoldKind kind = HoldKind::Git;
  Form form = Form::File;
  auto operator<=>(const KeptPath&) const = default;
};

struct Keeping {
  std::vector<KeptPath> paths;
  // Directories that lead to them and must answer to their names again, parents first.
  std::vector<std::string> ways;
  [[nodiscard]] bool empty() const { return paths.empty() && ways.empty(); }
  auto operator<=>(const Keeping&) const = default;
};

}  // namespace cordon
