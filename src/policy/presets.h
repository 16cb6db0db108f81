// The presets, compiled in. Each is a complete policy; files may extend one.
#pragma once

#include <span>
#include <string_view>

#include "cordon/policy.h"

namespace cordon {

struct PresetHost {
  std::uint64_t memory_bytes = 0;  // half of it is the memory limit of every preset but strict
};

std::span<const std::string_view> preset_names();
bool is_preset(std::string_view name);
// `name` is one of preset_names(), or "agent:" and the name of a known agent.
Policy make_preset(std::string_view name, const PresetHost& host);

}  // namespace cordon
