// BpfAssembler: writes a classic BPF program from its end to its beginning. Jumps only go forward,
// so every target exists before the jump to it, and a conditional jump that its eight bits cannot
// carry is led over an unconditional one. A step that was written before, with the same targets, is
// not written again: rules for several calls that look at an argument in the same way share it.
// Pure; it makes no system call.
#pragma once

#include <linux/filter.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace cordon {

// A place in a program: how many instructions lie from there to the end.
class BpfLabel {
 public:
  BpfLabel() = default;
  bool operator==(const BpfLabel&) const = default;

 private:
  friend class BpfAssembler;
  explicit BpfLabel(std::uint32_t from_end) : from_end_(from_end) {}
  std::uint32_t from_end_ = 0;
};

// Values from `first` up to the next segment's `first` go to `target`.
struct BpfSegment {
  std::uint32_t first;
  BpfLabel target;
};

// Each function puts one step before what is already there, unless the same step is there, and
// answers with its label. The
// accumulator passes from step to step.
class BpfAssembler {
 public:
  BpfAssembler();

  BpfLabel give(std::uint32_t action);                    // SECCOMP_RET_…
  BpfLabel load(std::uint32_t offset, BpfLabel next);     // a word of seccomp_data
  BpfLabel load_argument(unsigned index, BpfLabel next);  // its low 32 bits
  BpfLabel keep_bits(std::uint32_t mask, BpfLabel next);
  BpfLabel if_equal(std::uint32_t value, BpfLabel yes, BpfLabel no);
  BpfLabel if_at_least(std::uint32_t value, BpfLabel yes, BpfLabel no);
  BpfLabel if_any_bit(std::uint32_t mask, BpfLabel yes, BpfLabel no);
  BpfLabel if_one_of(std::initializer_list<std::uint32_t> values, BpfLabel yes, BpfLabel no);
  // Decides by value in logarithmic time. The segments ascend and the first begins at 0.
  BpfLabel search(std::span<const BpfSegment> segments);

  // The program that starts at `entry`, which must be the step written last. A program that the
  // kernel would not take is a bug and ends the process.
  std::vector<sock_filter> finish(BpfLabel entry);

 private:
  struct Step {
    std::uint16_t code;
    std::uint32_t value;
    BpfLabel yes;  // of a step with one successor: both
    BpfLabel no;
    BpfLabel label;
  };

  // The label of a step that was written before; the default one if there is none.
  [[nodiscard]] BpfLabel written(std::uint16_t code, std::uint32_t value, BpfLabel yes,
                                 BpfLabel no) const;
  BpfLabel straight(std::uint16_t code, std::uint32_t value, BpfLabel next);
  BpfLabel append(std::uint16_t code, std::uint8_t yes, std::uint8_t no, std::uint32_t value);
  BpfLabel branch(std::uint16_t code, std::uint32_t value, BpfLabel yes, BpfLabel no);
  BpfLabel within(std::uint32_t reach, BpfLabel target);
  std::uint32_t distance(BpfLabel target) const;

  std::vector<sock_filter> reversed_;
  std::vector<Step> steps_;
  bool shares_ = true;
};

// Ends the process unless the program is one the kernel takes and every jump lands inside it.
void check_bpf_program(std::span<const sock_filter> program);

}  // namespace cordon
