#include "run/limit_rules.h"

#include <string_view>

#include "base/text.h"
#include "run/lost_output.h"

namespace cordon {
namespace {

std::string sized(std::string_view key, const std::optional<std::uint64_t>& bytes) {
  return bytes ? std::string(key) + " = \"" + format_size(*bytes) + "\"" : std::string();
}

std::string lasting(std::string_view key, const std::optional<std::uint64_t>& ms) {
  return ms ? std::string(key) + " = \"" + format_duration(*ms) + "\"" : std::string();
}

std::string rule_of(const Effective& effective, const Denial& denial) {
  const Limits& limits = effective.limits;
  if (denial.what == "connect") {
    return denial.detail.ends_with("net.sockets") ? "net.sockets" : std::string();
  }
  if (denial.what == "memory") return sized("limits.memory", limits.memory);
  if (denial.what == "scratch") return sized("fs.scratch", effective.scratch);
  if (denial.what == "output" && !is_lost_output(denial)) {
    return sized("limits.output_total", limits.output_total);
  }
  if (denial.what == "file_size") return sized("limits.file_size", limits.file_size);
  if (denial.what == "sent") return sized("limits.sent", limits.sent);
  if (denial.what == "cpu") return lasting("limits.cpu", limits.cpu_ms);
  if (denial.what == "pids" && limits.pids) return "limits.pids = " + std::to_string(*limits.pids);
  return {};
}

}  // namespace

void name_rules(const Effective& effective, std::vector<Denial>& denials) {
  for (Denial& denial : denials) {
    if (denial.rule.empty()) denial.rule = rule_of(effective, denial);
  }
}

}  // namespace cordon
