#include "backend/native/seccomp_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "backend/native/arch_gate.h"
#include "backend/native/argument_rules.h"
#include "backend/native/bpf_assembler.h"
#include "backend/native/shared_host_rules.h"

namespace cordon {
namespace {

// The segments with single numbers taken out of them.
std::vector<BpfSegment> with_rules(const std::vector<BpfSegment>& segments,
                                   std::vector<SharedHostRule> rules) {
  std::ranges::sort(rules, {}, &SharedHostRule::number);
  std::vector<BpfSegment> result;
  const auto add = [&](std::uint32_t first, BpfLabel target) {
    if (!result.empty() && result.back().first == first) result.pop_back();
    if (result.empty() || result.back().target != target) result.push_back({first, target});
  };
  auto rule = rules.begin();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    add(segments[i].first, segments[i].target);
    const bool last = i + 1 == segments.size();
    for (; rule != rules.end() && (last || rule->number < segments[i + 1].first); ++rule) {
      add(rule->number, rule->target);
      add(rule->number + 1, segments[i].target);
    }
  }
  return result;
}

// Blocks are written once and only for the decisions that the architecture uses.
std::vector<BpfSegment> write_decisions(BpfAssembler& assembler, Arch arch,
                                        const FilterProfile& profile) {
  const Verdicts verdicts = write_verdicts(assembler, profile);
  std::array<std::optional<BpfLabel>, kDecisionCount> blocks;
  std::vector<BpfSegment> segments;
  const auto ranges = decision_ranges(arch);
  segments.reserve(ranges.size());
  for (const DecisionRange& range : ranges) {
    auto& block = blocks[static_cast<std::size_t>(range.decision)];
    if (!block) block = write_rule(assembler, range.decision, verdicts, profile);
    if (!segments.empty() && segments.back().target == *block) continue;
    segments.push_back({range.first, *block});
  }
  if (!profile.shares_host) return segments;
  return with_rules(segments, write_shared_host_rules(assembler, arch, verdicts, profile));
}

}  // namespace

std::vector<sock_filter> compile_filter(Arch arch, const FilterProfile& profile) {
  BpfAssembler assembler;
  const std::vector<BpfSegment> segments = write_decisions(assembler, arch, profile);
  const BpfLabel search = assembler.search(segments);
  return behind_arch_gate(assembler, arch, search);
}

std::string describe_filter(Arch arch, const FilterProfile& profile) {
  std::size_t allowed = 0;
  std::size_t refused = 0;
  std::size_t absent = 0;
  std::size_t judged = 0;
  for (const KnownSyscall& call : known_syscalls()) {
    if (!call.number(arch)) continue;
    if (call.decision == Decision::Allow ||
        (call.decision == Decision::Broker && !profile.has_broker()) ||
        (call.decision == Decision::Listen && profile.net != NetMode::Allow)) {
      ++allowed;
    } else if (call.decision == Decision::Refuse) {
      ++refused;
    } else if (call.decision == Decision::Absent) {
      ++absent;
    } else {
      ++judged;
    }
  }
  return fmt::format(
      "seccomp {}: {} allowed, {} by argument, {} refused, {} absent, {} instructions",
      name_of(arch), allowed, judged, refused, absent, compile_filter(arch, profile).size());
}

}  // namespace cordon
