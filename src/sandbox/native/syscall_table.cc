#include "sandbox/native/syscall_table.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "sandbox/native/syscall_decisions.h"

namespace cordon {
namespace {

struct NumberedName {
  std::string_view name;
  int aarch64;
  int x86_64;
};
constexpr NumberedName kNumbers[] = {
#include "syscall_numbers.inc"
};
constexpr std::size_t kKnown = std::size(kNumbers);

struct DecidedName {
  std::string_view name;
  Decision decision;
  Standing standing;
};
constexpr std::size_t kDecided = std::size(kNeverRefused) + std::size(kNeverAllowedAbsent) +
                                 std::size(kAbsent) + std::size(kByArgument) + std::size(kAllowed);

consteval std::array<DecidedName, kDecided> decided_names() {
  std::array<DecidedName, kDecided> all{};
  std::size_t count = 0;
  for (auto name : kNeverRefused) all[count++] = {name, Decision::Refuse, Standing::Never};
  for (auto name : kNeverAllowedAbsent) all[count++] = {name, Decision::Absent, Standing::Never};
  for (auto name : kAbsent) all[count++] = {name, Decision::Absent, Standing::Open};
  for (const auto& [name, rule] : kByArgument) all[count++] = {name, rule, Standing::Open};
  for (auto name : kAllowed) all[count++] = {name, Decision::Allow, Standing::Open};
  std::ranges::sort(all, {}, &DecidedName::name);
  return all;
}

// One known call without a pointer in it, so that the table lies in read-only pages that need no
// relocation when the program starts.
struct PackedSyscall {
  std::uint16_t name_offset;
  std::uint8_t name_length;
  Decision decision;
  std::int16_t aarch64;
  std::int16_t x86_64;
  bool never;
};

consteval std::size_t name_characters() {
  std::size_t count = 0;
  for (const NumberedName& call : kNumbers) count += call.name.size();
  return count;
}

struct Table {
  std::array<char, name_characters()> names{};
  std::array<PackedSyscall, kKnown> calls{};
  std::size_t decided = 0;
  bool distinct = true;
};

// Both lists are sorted by name, so one pass joins them.
consteval Table join() {
  Table table;
  const auto decided = decided_names();
  std::size_t next = 0;
  std::size_t offset = 0;
  for (std::size_t i = 0; i < kKnown; ++i) {
    const NumberedName& call = kNumbers[i];
    Decision decision = Decision::Refuse;
    Standing standing = Standing::Open;
    if (next < kDecided && decided[next].name == call.name) {
      decision = decided[next].decision;
      standing = decided[next].standing;
      ++next;
    }
    table.calls[i] = {static_cast<std::uint16_t>(offset),
                      static_cast<std::uint8_t>(call.name.size()),
                      decision,
                      static_cast<std::int16_t>(call.aarch64),
                      static_cast<std::int16_t>(call.x86_64),
                      standing == Standing::Never};
    for (char character : call.name) table.names[offset++] = character;
  }
  table.decided = next;
  for (std::size_t i = 1; i < kDecided; ++i) {
    if (decided[i - 1].name == decided[i].name) table.distinct = false;
  }
  return table;
}

constexpr Table kTable = join();
static_assert(kTable.distinct, "a system call stands twice in syscall_decisions.h");
static_assert(kTable.decided == kDecided, "syscall_decisions.h names a call nobody knows");

constexpr std::size_t kNumberSpace = 1024;

template <std::int16_t PackedSyscall::*kNumber>
consteval std::array<Decision, kNumberSpace> decisions_by_number() {
  std::array<Decision, kNumberSpace> by_number{};
  by_number.fill(Decision::Absent);
  for (const PackedSyscall& call : kTable.calls) {
    if (call.*kNumber >= 0) by_number[static_cast<std::size_t>(call.*kNumber)] = call.decision;
  }
  return by_number;
}

template <std::int16_t PackedSyscall::*kNumber>
consteval std::size_t count_ranges() {
  const auto by_number = decisions_by_number<kNumber>();
  std::size_t count = 1;
  for (std::size_t i = 1; i < kNumberSpace; ++i)
    count += by_number[i] != by_number[i - 1] ? 1U : 0U;
  return count;
}

template <std::int16_t PackedSyscall::*kNumber>
consteval std::array<DecisionRange, count_ranges<kNumber>()> ranges() {
  const auto by_number = decisions_by_number<kNumber>();
  std::array<DecisionRange, count_ranges<kNumber>()> result{};
  std::size_t count = 0;
  result[count++] = {0, by_number[0]};
  for (std::uint32_t i = 1; i < kNumberSpace; ++i) {
    if (by_number[i] != by_number[i - 1]) result[count++] = {i, by_number[i]};
  }
  return result;
}

constexpr auto kAarch64Ranges = ranges<&PackedSyscall::aarch64>();
constexpr auto kX86_64Ranges = ranges<&PackedSyscall::x86_64>();
// The last range stands for every higher number too.
static_assert(kAarch64Ranges.back().decision == Decision::Absent);
static_assert(kX86_64Ranges.back().decision == Decision::Absent);

std::string_view name_at(const PackedSyscall& call) {
  return {kTable.names.data() + call.name_offset, call.name_length};
}

std::optional<int> present(std::int16_t number) {
  if (number < 0) return std::nullopt;
  return number;
}

KnownSyscall unpack(const PackedSyscall& call) {
  return {name_at(call), present(call.aarch64), present(call.x86_64), call.decision,
          call.never ? Standing::Never : Standing::Open};
}

}  // namespace

Arch native_arch() {
#if defined(__aarch64__)
  return Arch::Aarch64;
#elif defined(__x86_64__)
  return Arch::X86_64;
#else
#error "the filter is written for aarch64 and x86_64"
#endif
}

std::string_view name_of(Arch arch) {
  switch (arch) {
    case Arch::Aarch64:
      return "aarch64";
    case Arch::X86_64:
      return "x86_64";
  }
  return {};
}

std::span<const DecisionRange> decision_ranges(Arch arch) {
  switch (arch) {
    case Arch::Aarch64:
      return kAarch64Ranges;
    case Arch::X86_64:
      return kX86_64Ranges;
  }
  return {};
}

std::optional<int> KnownSyscall::number(Arch arch) const {
  return arch == Arch::Aarch64 ? aarch64 : x86_64;
}

std::vector<KnownSyscall> known_syscalls() {
  std::vector<KnownSyscall> all;
  all.reserve(kKnown);
  for (const PackedSyscall& call : kTable.calls) all.push_back(unpack(call));
  return all;
}

std::vector<std::string_view> always_refused() {
  std::vector<std::string_view> names;
  for (const PackedSyscall& call : kTable.calls) {
    if (call.never) names.push_back(name_at(call));
  }
  return names;
}

std::optional<KnownSyscall> find_syscall(std::string_view name) {
  const auto place = std::ranges::lower_bound(kTable.calls, name, {}, name_at);
  if (place == kTable.calls.end() || name_at(*place) != name) return std::nullopt;
  return unpack(*place);
}

std::optional<std::string_view> syscall_name(Arch arch, int number) {
  if (number < 0) return std::nullopt;
  const auto field = arch == Arch::Aarch64 ? &PackedSyscall::aarch64 : &PackedSyscall::x86_64;
  const auto place = std::ranges::find(kTable.calls, number, field);
  if (place == kTable.calls.end()) return std::nullopt;
  return name_at(*place);
}

}  // namespace cordon
