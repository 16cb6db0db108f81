#include "compat/srt/command/variables.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "policy/environment.h"

namespace cordon::srt {
namespace {

// What every sandbox has of its own, and what is about the shell that started it.
constexpr std::array<std::string_view, 10> kOwn{"PATH", "HOME",   "USER",   "LOGNAME", "SHELL",
                                                "PWD",  "OLDPWD", "TMPDIR", "_",       "SHLVL"};

// Connections are direct, and no host of a proxy is among those that are allowed.
bool names_a_proxy(const std::string& name) { return lower_case(name).ends_with("_proxy"); }

std::string reason_against(const std::string& name, std::string_view value) {
  if (is_loader_variable(name)) return "nothing may set it";
  if (is_injection_variable(name)) return "it makes programs load or run something";
  if (is_secret_name(name)) return "it may hold a secret";
  if (may_hold_login(value)) return "it may hold an address with a user's name or password";
  if (names_a_proxy(name)) return "connections are direct";
  return {};
}

}  // namespace

Variables variables_of(const Caller& caller) {
  Variables variables;
  for (const auto& [name, value] : caller.environment) {
    if (std::ranges::find(kOwn, name) != kOwn.end() || !is_valid_variable_name(name)) continue;
    std::string reason = reason_against(name, value);
    if (reason.empty()) {
      variables.passed.push_back(name);
    } else {
      if (!is_loader_variable(name)) reason += "; --env " + name + " passes it";
      variables.left_out.emplace_back(name, std::move(reason));
    }
  }
  return variables;
}

}  // namespace cordon::srt
