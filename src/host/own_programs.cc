#include "host/own_programs.h"

#include "base/path.h"

namespace cordon {

std::vector<std::string> own_programs(const Caller& caller) {
  if (caller.executable.empty()) return {};
  const std::string_view directory = parent(caller.executable);
  return {caller.executable, join(directory, "cordon"), join(directory, "cordon-audit"),
          join(directory, "cordon-mcp"), join(directory, "cordon-loop")};
}

}  // namespace cordon
