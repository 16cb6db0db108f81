#include "host/own_programs.h"

#include "base/path.h"

namespace cordon {

std::vector<std::string> own_programs(const Caller& caller) {
  if (caller.executable.empty()) return {};
  const std::string_view directory = parent(caller.executable);
  std::vector<std::string> programs{caller.executable};
  for (const char* name : {"cordon", "cordon-audit", "cordon-mcp", "cordon-loop", "cordon-setup",
                           "cordon-demo", "cordon-mxc", "cordon-srt", "cordon-inside"}) {
    programs.push_back(join(directory, name));
  }
  return programs;
}

}  // namespace cordon
