#include "backend/native/listed_filter.h"

#include <linux/seccomp.h>

#include <array>
#include <map>
#include <optional>

#include "backend/native/arch_gate.h"
#include "backend/native/argument_rules.h"

namespace cordon {
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
