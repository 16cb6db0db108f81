#include <array>

#include "config/decode.h"

namespace cordon {
namespace {

using Number = std::optional<std::uint64_t>;

struct LimitKey {
  std::string_view name;
  Number Limits::*field;
  Result<Number> (Section::*read)(std::string_view) const;
};

constexpr std::array<LimitKey, 11> kLimits{{
    {"wall", &Limits::wall_ms, &Section::duration},
    {"cpu", &Limits::cpu_ms, &Section::duration},
    {"memory", &Limits::memory, &Section::size},
    {"pids", &Limits::pids, &Section::count},
    {"cpus", &Limits::cpus_milli, &Section::thousandths},
    {"files", &Limits::files, &Section::count},
    {"file_size", &Limits::file_size, &Section::size},
    {"output", &Limits::output, &Section::size},
    {"output_total", &Limits::output_total, &Section::size},
    {"connections", &Limits::connections, &Section::count},
    {"sent", &Limits::sent, &Section::size},
}};

constexpr auto kLimitKeys = [] {
  std::array<std::string_view, kLimits.size()> names{};
  for (std::size_t i = 0; i < kLimits.size(); ++i) names[i] = kLimits[i].name;
  return names;
}();

}  // namespace

Result<void> decode_limits(const Section& document, Limits& limits) {
  CORDON_TRY(section, document.member("limits", kLimitKeys));
  for (const LimitKey& limit : kLimits) {
    CORDON_TRY(value, (section.*limit.read)(limit.name));
    if (value) limits.*limit.field = value;
  }
  return {};
}

}  // namespace cordon
