// The presets, compiled in. Each is a complete policy; files may extend one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
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

// The limits as a table: which member, what it is called, how its value is written. The one place
// that walks over all of them.

enum class LimitUnit { Milliseconds, Bytes, Count, Thousandths };

struct LimitField {
  std::string_view key;  // in [limits]
  std::optional<std::uint64_t> Limits::*member;
  LimitUnit unit;
};

std::span<const LimitField> limit_fields();
// As a person would write it: "30s", "1G", "2048", "1.5".
std::string format_limit(LimitUnit unit, std::uint64_t value);

}  // namespace cordon
