#include <cstddef>
#include <cstdint>

#include "base/text.h"
#include "config/environment.h"
#include "stable_policy.h"

// The input is one value per line: two path lists, a timeout, a network word. An empty line leaves
// its variable unset.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const char* const names[] = {"CORDON_SANDBOX_READONLY_PATHS", "ENTRABOT_SANDBOX_READWRITE_PATHS",
                               "CORDON_SANDBOX_TIMEOUT_MS", "ENTRABOT_SANDBOX_NETWORK"};
  std::map<std::string, std::string> environment;
  const auto lines = cordon::split(text, '\n');
  for (std::size_t i = 0; i < lines.size() && i < std::size(names); ++i) {
    if (!lines[i].empty()) environment[names[i]] = std::string(lines[i]);
  }
  const auto ceiling = cordon::environment_ceiling(environment);
  if (!ceiling) {
    cordon::require_that(ceiling.error().kind == cordon::ErrorKind::Policy);
    return 0;
  }
  cordon::require_that(ceiling->has_value() == !environment.empty());
  if (!ceiling->has_value()) return 0;
  const cordon::Policy& policy = (*ceiling)->policy;
  cordon::require_that(policy.limits.wall_ms.has_value() && *policy.limits.wall_ms > 0);
  cordon::require_that(policy.net.mode != cordon::NetMode::Allow);
  for (const auto* list : {&policy.fs.read, &policy.fs.write}) {
    for (const cordon::PathRule& rule : *list) {
      cordon::require_that(rule.text.front() == '/' || rule.text.front() == '~');
    }
  }
  for (const auto style : {cordon::PathListStyle::Posix, cordon::PathListStyle::Windows}) {
    for (const std::string& entry : cordon::split_path_list(text, style)) {
      cordon::require_that(!entry.empty());
    }
  }
  return 0;
}
