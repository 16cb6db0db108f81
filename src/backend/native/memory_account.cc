#include "backend/native/memory_account.h"

#include <algorithm>

#include "base/text.h"

namespace cordon::native {
namespace {

std::uint64_t whole_number(std::string_view text) {
  return parse_number(text.substr(0, text.find('\n'))).value_or(0);
}

}  // namespace

std::uint64_t keyed_number(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(name) && line.size() > name.size() && line[name.size()] == ' ') {
      return parse_number(line.substr(name.size() + 1)).value_or(0);
    }
  }
  return 0;
}

MemoryKill MemoryAccount::kill() const {
  if (killed == 0) return MemoryKill::None;
  return bound_met > 0 ? MemoryKill::AtOwnBound : MemoryKill::FromOutside;
}

MemoryAccount account_of_events(std::string_view events) {
  return {keyed_number(events, "oom"), keyed_number(events, "oom_kill")};
}

MemoryAccount account_of_oom_control(std::string_view control, std::string_view limit,
                                     std::string_view peak, std::string_view peak_with_swap) {
  // A charge of several pages fails when fewer are left.
  constexpr std::uint64_t kLargestCharge = 256 << 10;
  const std::uint64_t used = std::max(whole_number(peak), whole_number(peak_with_swap));
  const bool met = used + kLargestCharge >= whole_number(limit);
  return {met ? std::uint64_t{1} : 0, keyed_number(control, "oom_kill")};
}

std::optional<Denial> memory_denial(const MemoryAccount& account, const std::string& bound) {
  switch (account.kill()) {
    case MemoryKill::None:
      return std::nullopt;
    case MemoryKill::AtOwnBound:
      return Denial{"memory", "killed at " + bound, "cgroup", account.killed};
    case MemoryKill::FromOutside:
      return Denial{"memory", "killed because memory ran out around the run, not at its own limit",
                    "host", account.killed};
  }
  return std::nullopt;
}

}  // namespace cordon::native
