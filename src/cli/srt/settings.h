// The settings of one run: found, read and made a policy.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/foreign/foreign.h"
#include "policy/host_facts.h"

namespace cordon::srt {

struct Settings {
  std::string file;  // empty: there is none, and nothing may be written or reached
  Node document;
};

// The file that was named, or the one in the home. A file that is there and cannot be used is an
// error: what holds without one would leave out its rules.
Result<Settings> find_settings(std::optional<std::string_view> named, const Caller& caller);

// The policy they amount to. The file itself is held against the command, wherever it lies.
Result<Imported> policy_of(const Settings& settings, const Caller& caller);

// The network part of other settings that are to take the place of these while a command runs. An
// error names whatever else they would change.
Result<NetRules> network_of(const Node& document, const Settings& running, const std::string& name,
                            const Caller& caller);

}  // namespace cordon::srt
