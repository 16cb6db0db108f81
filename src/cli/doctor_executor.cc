// The check of an MXC executor, where one is installed. Without a pin it only cannot be used, so
// that nothing here fails.
#include "base/text.h"
#include "cli/doctor_check.h"

namespace cordon {
namespace {

Check warn(std::string message, std::string cure) {
  return {CheckCategory::Config, "mxc-executor", CheckStatus::Warn, std::move(message),
          std::move(cure)};
}

std::string or_unknown(const std::string& text) {
  return text.empty() ? "unknown" : sanitize(text);
}

}  // namespace

Check judge_executor(const mxc::ExecutorAccount& executor) {
  const std::string place = quote(executor.path) + " (" + executor.tier + ")";
  if (executor.why) return warn(message(*executor.why), executor.why->hint);
  if (!executor.pin || executor.pin->is_zero()) {
    return warn(place + ", SHA256 " + executor.sha256 + ": not pinned",
                "if you know where it came from, write into " + quote(executor.pins) +
                    ": version = 1, [executors." + executor.key + "], sha256 = \"" +
                    executor.sha256 + "\", version, commit, origin");
  }
  const mxc::Pin& pin = *executor.pin;
  if (pin.sha256 != executor.sha256) {
    return warn(place + " is not the pinned one: SHA256 expected " + pin.sha256 + ", actual " +
                    executor.sha256,
                "install the pinned release again");
  }
  return {CheckCategory::Config, "mxc-executor", CheckStatus::Pass,
          place + ", version " + sanitize(pin.version) + ", commit " + or_unknown(pin.commit) +
              ", origin " + or_unknown(pin.origin) + ", SHA256 " + pin.sha256,
          ""};
}

}  // namespace cordon
