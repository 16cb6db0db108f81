#include "sandbox/native/bpf_assembler.h"

#include <linux/seccomp.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/check.h"

namespace cordon {
namespace {

constexpr std::uint32_t kLongestBranch = 255;
constexpr std::size_t kUsualSize = 256;

// A run of segments decided together: the first one's target, except for single values between.
struct Group {
  std::size_t begin;
  std::size_t end;
};

// An exception costs one comparison where two more segments would cost two, but each is tried in
// turn, so their number is bounded.
constexpr std::size_t kMostExceptions = 4;

std::vector<Group> group_segments(std::span<const BpfSegment> segments) {
  std::vector<Group> groups;
  groups.reserve(segments.size());
  for (std::size_t begin = 0; begin < segments.size();) {
    std::size_t end = begin + 1;
    while (end + 1 < segments.size() && segments[end + 1].target == segments[begin].target &&
           segments[end + 1].first == segments[end].first + 1 &&
           end - begin < 2 * kMostExceptions) {
      end += 2;
    }
    groups.push_back({begin, end});
    begin = end;
  }
  return groups;
}

BpfLabel search_groups(BpfAssembler& assembler, std::span<const BpfSegment> segments,
                       std::span<const Group> groups) {
  if (groups.size() == 1) {
    BpfLabel label = segments[groups[0].begin].target;
    for (std::size_t i = groups[0].begin + 1; i < groups[0].end; i += 2) {
      label = assembler.if_equal(segments[i].first, segments[i].target, label);
    }
    return label;
  }
  const std::size_t half = groups.size() / 2;
  const BpfLabel upper = search_groups(assembler, segments, groups.subspan(half));
  const BpfLabel lower = search_groups(assembler, segments, groups.first(half));
  return assembler.if_at_least(segments[groups[half].begin].first, upper, lower);
}

}  // namespace

BpfAssembler::BpfAssembler() { reversed_.reserve(kUsualSize); }

BpfLabel BpfAssembler::append(std::uint16_t code, std::uint8_t yes, std::uint8_t no,
                              std::uint32_t value) {
  reversed_.push_back({code, yes, no, value});
  return BpfLabel(static_cast<std::uint32_t>(reversed_.size()));
}

// How many instructions a jump written now would skip.
std::uint32_t BpfAssembler::distance(BpfLabel target) const {
  const auto size = static_cast<std::uint32_t>(reversed_.size());
  CORDON_ASSERT(target.from_end_ >= 1 && target.from_end_ <= size);
  return size - target.from_end_;
}

BpfLabel BpfAssembler::within(std::uint32_t reach, BpfLabel target) {
  const std::uint32_t skipped = distance(target);
  if (skipped <= reach) return target;
  return append(BPF_JMP | BPF_JA, 0, 0, skipped);
}

BpfLabel BpfAssembler::written(std::uint16_t code, std::uint32_t value, BpfLabel yes,
                               BpfLabel no) const {
  if (!shares_) return {};
  for (const Step& step : steps_) {
    if (step.value == value && step.code == code && step.yes == yes && step.no == no) {
      return step.label;
    }
  }
  return {};
}

BpfLabel BpfAssembler::branch(std::uint16_t code, std::uint32_t value, BpfLabel yes, BpfLabel no) {
  if (const BpfLabel there = written(code, value, yes, no); there != BpfLabel()) return there;
  // A relay written for the second target moves the first one step further away.
  const BpfLabel near_yes = within(kLongestBranch - 1, yes);
  const BpfLabel near_no = within(kLongestBranch, no);
  const BpfLabel label = append(code, static_cast<std::uint8_t>(distance(near_yes)),
                                static_cast<std::uint8_t>(distance(near_no)), value);
  if (shares_) steps_.push_back({code, value, yes, no, label});
  return label;
}

// A step that goes on with the next one, whatever it finds.
BpfLabel BpfAssembler::straight(std::uint16_t code, std::uint32_t value, BpfLabel next) {
  if (const BpfLabel there = written(code, value, next, next); there != BpfLabel()) return there;
  within(0, next);
  const BpfLabel label = append(code, 0, 0, value);
  if (shares_) steps_.push_back({code, value, next, next, label});
  return label;
}

BpfLabel BpfAssembler::give(std::uint32_t action) { return append(BPF_RET | BPF_K, 0, 0, action); }

BpfLabel BpfAssembler::load(std::uint32_t offset, BpfLabel next) {
  return straight(BPF_LD | BPF_W | BPF_ABS, offset, next);
}

BpfLabel BpfAssembler::load_argument(unsigned index, BpfLabel next) {
  // Both architectures are little-endian: the low half comes first.
  return load(static_cast<std::uint32_t>(offsetof(seccomp_data, args) + std::size_t{8} * index),
              next);
}

BpfLabel BpfAssembler::keep_bits(std::uint32_t mask, BpfLabel next) {
  return straight(BPF_ALU | BPF_AND | BPF_K, mask, next);
}

BpfLabel BpfAssembler::if_equal(std::uint32_t value, BpfLabel yes, BpfLabel no) {
  return branch(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no);
}

BpfLabel BpfAssembler::if_at_least(std::uint32_t value, BpfLabel yes, BpfLabel no) {
  return branch(BPF_JMP | BPF_JGE | BPF_K, value, yes, no);
}

BpfLabel BpfAssembler::if_any_bit(std::uint32_t mask, BpfLabel yes, BpfLabel no) {
  return branch(BPF_JMP | BPF_JSET | BPF_K, mask, yes, no);
}

BpfLabel BpfAssembler::if_one_of(std::initializer_list<std::uint32_t> values, BpfLabel yes,
                                 BpfLabel no) {
  BpfLabel label = no;
  for (std::uint32_t value : values) label = if_equal(value, yes, label);
  return label;
}

BpfLabel BpfAssembler::search(std::span<const BpfSegment> segments) {
  CORDON_ASSERT(!segments.empty() && segments.front().first == 0);
  // Its steps are all different, and there are many: nobody need compare them.
  const bool shared = std::exchange(shares_, false);
  const BpfLabel label = search_groups(*this, segments, group_segments(segments));
  shares_ = shared;
  return label;
}

std::vector<sock_filter> BpfAssembler::finish(BpfLabel entry) {
  CORDON_ASSERT(distance(entry) == 0);
  std::reverse(reversed_.begin(), reversed_.end());
  check_bpf_program(reversed_);
  return std::move(reversed_);
}

void check_bpf_program(std::span<const sock_filter> program) {
  CORDON_ASSERT(!program.empty() && program.size() <= BPF_MAXINSNS);
  CORDON_ASSERT(BPF_CLASS(program.back().code) == BPF_RET);
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (BPF_CLASS(program[i].code) != BPF_JMP) continue;
    const std::size_t left = program.size() - i - 1;
    if (BPF_OP(program[i].code) == BPF_JA) {
      CORDON_ASSERT(program[i].k < left);
    } else {
      CORDON_ASSERT(program[i].jt < left && program[i].jf < left);
    }
  }
}

}  // namespace cordon
