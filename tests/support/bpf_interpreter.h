// Runs a classic BPF program over one seccomp_data in user space and remembers which instructions
// ran and which sides of each conditional jump were taken, so that a test can demand all of them.
// An instruction the interpreter does not know, a load outside seccomp_data or a jump out of the
// program is no answer at all.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cordon {

class BpfInterpreter {
 public:
  explicit BpfInterpreter(std::span<const sock_filter> program)
      : program_(program.begin(), program.end()), coverage_(program.size()) {}

  std::optional<std::uint32_t> run(const seccomp_data& data) {
    std::uint32_t accumulator = 0;
    std::size_t at = 0;
    while (at < program_.size()) {
      const sock_filter& step = program_[at];
      coverage_[at].ran = true;
      switch (step.code) {
        case BPF_RET | BPF_K:
          return step.k;
        case BPF_LD | BPF_W | BPF_ABS:
          if (step.k % 4 != 0 || step.k > sizeof data - 4) return std::nullopt;
          std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + step.k, 4);
          at += 1;
          break;
        case BPF_ALU | BPF_AND | BPF_K:
          accumulator &= step.k;
          at += 1;
          break;
        case BPF_JMP | BPF_JA:
          at += std::size_t{1} + step.k;
          break;
        case BPF_JMP | BPF_JEQ | BPF_K:
          at = take(at, accumulator == step.k ? Side::Yes : Side::No);
          break;
        case BPF_JMP | BPF_JGE | BPF_K:
          at = take(at, accumulator >= step.k ? Side::Yes : Side::No);
          break;
        case BPF_JMP | BPF_JSET | BPF_K:
          at = take(at, (accumulator & step.k) != 0 ? Side::Yes : Side::No);
          break;
        default:
          return std::nullopt;
      }
    }
    return std::nullopt;
  }

  // What no run has reached yet, one line each: "17 yes", "40".
  std::vector<std::string> unreached() const {
    std::vector<std::string> missing;
    for (std::size_t i = 0; i < program_.size(); ++i) {
      if (!coverage_[i].ran) {
        missing.push_back(std::to_string(i));
        continue;
      }
      if (!is_conditional(program_[i])) continue;
      if (!coverage_[i].yes) missing.push_back(std::to_string(i) + " yes");
      if (!coverage_[i].no) missing.push_back(std::to_string(i) + " no");
    }
    return missing;
  }

 private:
  enum class Side { Yes, No };
  struct Coverage {
    bool ran = false;
    bool yes = false;
    bool no = false;
  };

  static bool is_conditional(const sock_filter& step) {
    return BPF_CLASS(step.code) == BPF_JMP && BPF_OP(step.code) != BPF_JA;
  }

  std::size_t take(std::size_t at, Side side) {
    if (side == Side::Yes) {
      coverage_[at].yes = true;
      return at + 1 + program_[at].jt;
    }
    coverage_[at].no = true;
    return at + 1 + program_[at].jf;
  }

  std::vector<sock_filter> program_;
  std::vector<Coverage> coverage_;
};

}  // namespace cordon
