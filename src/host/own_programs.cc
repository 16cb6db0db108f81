#include "host/own_programs.h"

#include "base/path.h"

namespace cordon {

std::array<std::string, 3> own_places(std::string_view directory, std::string_view name) {
  std::string_view up = directory;
  for (std::size_t i = 0; i <= components(CORDON_LIBEXEC).size(); ++i) up = parent(up);
  const std::string beside(parent(directory));
  return {join(directory, name), join(join(beside, CORDON_LIBEXEC "/cordon"), name),
          join(join(up, CORDON_BIN), name)};
}

std::vector<std::string> own_programs(const Caller& caller) {
  if (caller.executable.empty()) return {};
  std::vector<std::string> programs{caller.executable};
  for (const char* name :
       {"cordon", "cordon-apply", "cordon-audit", "cordon-demo", "cordon-inside", "cordon-loop",
        "cordon-mcp", "cordon-mxc", "cordon-setup", "cordon-srt"}) {
    for (std::string& place : own_places(parent(caller.executable), name))
      programs.push_back(std::move(place));
  }
  return programs;
}

}  // namespace cordon
