// The limits as a table: which member, what it is called, how its value is written. The one place
// that walks over all of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cordon/policy.h"

namespace cordon {

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
