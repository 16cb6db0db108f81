#include <array>

#include "mcp/tools/tools.h"

namespace cordon::mcp {
namespace {

bool is_on(const std::map<std::string, std::string>& environment, std::string_view name) {
  constexpr std::array<std::string_view, 2> kPrefixes{"CORDON_", "ENTRABOT_"};
  for (const std::string_view prefix : kPrefixes) {
    const auto found = environment.find(std::string(prefix).append(name));
    if (found != environment.end()) return found->second == "1";
  }
  return false;
}

}  // namespace

Switches read_switches(const std::map<std::string, std::string>& environment) {
  return {is_on(environment, "ENABLE_RUN_CODE"), is_on(environment, "ENABLE_UNSAFE_WRITE")};
}

}  // namespace cordon::mcp
