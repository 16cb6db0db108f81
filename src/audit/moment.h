// Moments in UTC, to the microsecond, as the log writes them: "2026-11-15T05:58:18.123456Z".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cordon::audit {

inline constexpr std::int64_t kDayUs = std::int64_t{86'400} * 1'000'000;
inline constexpr std::size_t kDayLength = 10;  // of "2026-11-15"

struct Clock {
  // Microseconds since 1970 in UTC, which may jump, and milliseconds since the start of the host,
  // which may not.
  std::int64_t (*wall_us)();
  std::uint64_t (*boot_ms)();
};
Clock system_clock();

std::string format_moment(std::int64_t wall_us);
std::optional<std::int64_t> parse_moment(std::string_view text);  // exactly that form

// "2026-11-15"; days order as their texts do.
std::string day_of(std::int64_t wall_us);
// The first microsecond of a day; nothing if there is no such day.
std::optional<std::int64_t> start_of_day(std::string_view day);

}  // namespace cordon::audit
