// How the table of decisions becomes a program.
//
// The kernel runs the filter at every system call of the sandbox, so what counts is how many
// instructions the usual call meets. A list of comparisons, one for each known call, would cost the
// last of them hundreds. Neighbouring numbers mostly have the same answer, so the table is read as
// ranges, and the ranges are searched: the program compares the number with the beginning of the
// middle range and goes on in one half. A few comparisons find any number, one that nobody knows
// included: it lies in a range that answers ENOSYS.
//
//   architecture?  another one: kill
//   x32?           kill (x86_64 alone: the same architecture word, other numbers)
//   search         number >= first of the middle range? ... down to one range
//   block          of the range's decision: an answer, or a look at the arguments
//
// The gate comes first, since a number means another call under another architecture. The blocks
// come last. A classic BPF program can only jump forward, so it is written from its end: the
// answers first, then the blocks that jump to them, then the search that jumps to the blocks. A
// block is written once, whatever the number of calls that it decides, and only if the architecture
// has such a call.
//
// Two layers may be put over the ranges, each of which takes single numbers out of them. The first
// shows the supervisor the calls that take a path, of a run whose file accesses are watched; what
// the table refuses stays refused, because the supervisor lets continue what it is shown. The
// second has the rules of a sandbox that shares the host's network, and comes last, so that none of
// its questions to the broker can be turned into a call that just continues.
//
// Arguments are judged by value alone. What a pointer leads to can change between the look and the
// kernel's own, in another thread; calls of that kind go to the supervisor, which copies what it
// judged and acts itself.

#include "sandbox/native/seccomp_filter.h"

#include <fmt/format.h>
#include <linux/audit.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>

#include "sandbox/native/argument_rules.h"
#include "sandbox/native/bpf_assembler.h"
#include "sandbox/native/host_rules.h"
#include "sys/path_calls.h"

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

// The calls that take a path, as the table decides them; what it allows is shown to the supervisor
// first. Nothing that it refuses is: the supervisor lets what it is shown continue.
std::vector<SharedHostRule> write_watched(BpfAssembler& assembler, Arch arch, Verdicts verdicts,
                                          const FilterProfile& profile) {
  verdicts.allow = verdicts.broker;
  std::array<std::optional<BpfLabel>, kDecisionCount> blocks;
  std::vector<SharedHostRule> rules;
  for (const sys::PathCall& call : sys::path_calls()) {
    const auto known = find_syscall(call.name);
    const auto number = known ? known->number(arch) : std::nullopt;
    if (!number) continue;
    auto& block = blocks[static_cast<std::size_t>(known->decision)];
    if (!block) block = write_rule(assembler, known->decision, verdicts, profile);
    rules.push_back({static_cast<std::uint32_t>(*number), *block});
  }
  return rules;
}

// True if every number from `first` up to `end` has a rule.
bool all_among(const std::vector<SharedHostRule>& rules, std::uint32_t first, std::uint32_t end) {
  for (std::uint32_t number = first; number < end; ++number) {
    if (std::ranges::find(rules, number, &SharedHostRule::number) == rules.end()) return false;
  }
  return true;
}

// Blocks are written once and only for the decisions that the architecture uses.
std::vector<BpfSegment> write_decisions(BpfAssembler& assembler, Arch arch,
                                        const FilterProfile& profile) {
  const Verdicts verdicts = write_verdicts(assembler, profile);
  std::vector<SharedHostRule> watched;
  if (profile.watched && profile.has_broker()) {
    watched = write_watched(assembler, arch, verdicts, profile);
  }
  std::array<std::optional<BpfLabel>, kDecisionCount> blocks;
  std::vector<BpfSegment> segments;
  const auto ranges = decision_ranges(arch);
  segments.reserve(ranges.size());
  for (const DecisionRange& range : ranges) {
    // Where every number is watched, nothing would lead to the block.
    const bool last = &range == &ranges.back();
    if (!last && all_among(watched, range.first, (&range + 1)->first)) continue;
    auto& block = blocks[static_cast<std::size_t>(range.decision)];
    if (!block) block = write_rule(assembler, range.decision, verdicts, profile);
    if (!segments.empty() && segments.back().target == *block) continue;
    segments.push_back({range.first, *block});
  }
  segments = with_rules(segments, std::move(watched));
  // Last: what they ask the broker for is never let continue.
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
        (call.decision == Decision::Rename && !(profile.staged && profile.has_broker())) ||
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

namespace {

constexpr std::uint32_t kX32Bit = 0x40000000;
// -1, no call of either ABI: what a tracer puts in the place of a call that is not to happen. The
// kernel asks the filters about it.
constexpr std::uint32_t kSkippedByTracer = 0xffffffff;

std::uint32_t audit_token(Arch arch) {
  switch (arch) {
    case Arch::Aarch64:
      return AUDIT_ARCH_AARCH64;
    case Arch::X86_64:
      return AUDIT_ARCH_X86_64;
  }
  return 0;
}

BpfLabel write_number_check(BpfAssembler& assembler, Arch arch, BpfLabel search, BpfLabel kill) {
  switch (arch) {
    case Arch::Aarch64:
      return search;
    case Arch::X86_64:
      // x32 calls carry the same architecture token and other numbers.
      return assembler.if_any_bit(kX32Bit, assembler.if_equal(kSkippedByTracer, search, kill),
                                  search);
  }
  return kill;
}

}  // namespace

std::vector<sock_filter> behind_arch_gate(BpfAssembler& assembler, Arch arch, BpfLabel search) {
  const BpfLabel kill = assembler.give(SECCOMP_RET_KILL_PROCESS);
  const BpfLabel number =
      assembler.load(offsetof(seccomp_data, nr), write_number_check(assembler, arch, search, kill));
  return assembler.finish(assembler.load(offsetof(seccomp_data, arch),
                                         assembler.if_equal(audit_token(arch), number, kill)));
}

namespace {

// The rules of a sandbox whose network is its own and that has no broker.
constexpr FilterProfile kProfile{NetMode::None, false};

class ListedFilter {
 public:
  explicit ListedFilter(ListedSockets sockets)
      : sockets_(sockets), verdicts_(write_verdicts(assembler_, kProfile)) {}

  std::vector<sock_filter> compile(Arch arch, std::span<const KnownSyscall> calls) && {
    std::map<std::uint32_t, BpfLabel> answers;
    for (const KnownSyscall& call : calls) {
      if (const auto number = call.number(arch)) {
        answers[static_cast<std::uint32_t>(*number)] = answer(call);
      }
    }
    return behind_arch_gate(assembler_, arch, assembler_.search(segments(answers)));
  }

 private:
  BpfLabel answer(const KnownSyscall& call) {
    if (call.standing == Standing::Never) {
      return call.decision == Decision::Absent ? verdicts_.absent : verdicts_.refuse;
    }
    switch (call.decision) {
      // What Cordon's own sandboxes do without and a policy may list nevertheless.
      case Decision::Refuse:
      case Decision::Absent:
      case Decision::Allow:
        return verdicts_.allow;
      case Decision::Socket:
        if (sockets_ == ListedSockets::None) return verdicts_.no_such_family;
        return rule(call.decision);
      case Decision::Broker:
      case Decision::Listen:
      case Decision::Rename:
      case Decision::Clone:
      case Decision::Fcntl:
      case Decision::IoPriority:
      case Decision::Ioctl:
      case Decision::MakeNode:
      case Decision::MakeNodeAt:
      case Decision::Mode:
      case Decision::ModeAt:
      case Decision::OfProcess:
      case Decision::Open:
      case Decision::OpenAt:
      case Decision::Personality:
      case Decision::Prctl:
      case Decision::Priority:
      case Decision::Seccomp:
      case Decision::SendTo:
      case Decision::SendMessage:
      case Decision::SendMessages:
      case Decision::SetSocketOption:
      case Decision::SocketPair:
        return rule(call.decision);
    }
    return verdicts_.refuse;
  }

  BpfLabel rule(Decision decision) {
    auto& block = blocks_[static_cast<std::size_t>(decision)];
    if (!block) block = write_rule(assembler_, decision, verdicts_, kProfile);
    return *block;
  }

  // Every number between two listed ones kills.
  std::vector<BpfSegment> segments(const std::map<std::uint32_t, BpfLabel>& answers) {
    const BpfLabel kill = assembler_.give(SECCOMP_RET_KILL_PROCESS);
    std::vector<BpfSegment> all{{0, kill}};
    const auto begin = [&](std::uint32_t first, BpfLabel target) {
      if (all.back().target == target) return;
      if (all.back().first == first) {
        all.back().target = target;
      } else {
        all.push_back({first, target});
      }
    };
    for (const auto& [number, label] : answers) {
      begin(number, label);
      if (!answers.contains(number + 1)) begin(number + 1, kill);
    }
    return all;
  }

  BpfAssembler assembler_;
  ListedSockets sockets_;
  Verdicts verdicts_;
  std::array<std::optional<BpfLabel>, kDecisionCount> blocks_;
};

}  // namespace

std::vector<sock_filter> compile_listed_filter(Arch arch, std::span<const KnownSyscall> calls,
                                               ListedSockets sockets) {
  return ListedFilter(sockets).compile(arch, calls);
}

}  // namespace cordon
