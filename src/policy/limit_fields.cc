#include "policy/limit_fields.h"

#include <array>

#include "base/text.h"

namespace cordon {
namespace {

constexpr std::array<LimitField, 11> kFields{{
    {"wall", &Limits::wall_ms, LimitUnit::Milliseconds},
    {"cpu", &Limits::cpu_ms, LimitUnit::Milliseconds},
    {"memory", &Limits::memory, LimitUnit::Bytes},
    {"pids", &Limits::pids, LimitUnit::Count},
    {"cpus", &Limits::cpus_milli, LimitUnit::Thousandths},
    {"files", &Limits::files, LimitUnit::Count},
    {"file_size", &Limits::file_size, LimitUnit::Bytes},
    {"output", &Limits::output, LimitUnit::Bytes},
    {"output_total", &Limits::output_total, LimitUnit::Bytes},
    {"connections", &Limits::connections, LimitUnit::Count},
    {"sent", &Limits::sent, LimitUnit::Bytes},
}};
static_assert(sizeof(Limits) == kFields.size() * sizeof(std::optional<std::uint64_t>),
              "every limit stands in the table");

}  // namespace

std::span<const LimitField> limit_fields() { return kFields; }

std::string format_limit(LimitUnit unit, std::uint64_t value) {
  switch (unit) {
    case LimitUnit::Milliseconds:
      return format_duration(value);
    case LimitUnit::Bytes:
      return format_size(value);
    case LimitUnit::Count:
      return std::to_string(value);
    case LimitUnit::Thousandths: {
      std::string fraction = std::to_string(1000 + value % 1000).substr(1);
      while (fraction.size() > 1 && fraction.back() == '0') fraction.pop_back();
      return std::to_string(value / 1000) + "." + fraction;
    }
  }
  return std::to_string(value);
}

}  // namespace cordon
