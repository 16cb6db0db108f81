#include "sandbox/native/bpf_assembler.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>

#include "support/bpf_interpreter.h"

namespace cordon {
namespace {

seccomp_data numbered(std::uint32_t number) {
  seccomp_data data{};
  data.nr = static_cast<int>(number);
  return data;
}

// The answer of the segment a value lies in, found by walking the list.
std::uint32_t answer_for(const std::map<std::uint32_t, std::uint32_t>& answers,
                         std::uint32_t value) {
  return std::prev(answers.upper_bound(value))->second;
}

std::vector<sock_filter> search_program(const std::map<std::uint32_t, std::uint32_t>& answers) {
  BpfAssembler assembler;
  std::map<std::uint32_t, BpfLabel> labels;
  std::vector<BpfSegment> segments;
  for (const auto& [first, answer] : answers) {
    if (!labels.contains(answer)) labels[answer] = assembler.give(answer);
    segments.push_back({first, labels[answer]});
  }
  return assembler.finish(assembler.load(offsetof(seccomp_data, nr), assembler.search(segments)));
}

TEST(BpfAssembler, SearchAnswersAsAWalkOverTheSegmentsDoes) {
  EXPECT_TRUE(rc::check([] {
    std::map<std::uint32_t, std::uint32_t> answers = {{0, 1}};
    const auto steps =
        *rc::gen::container<std::vector<std::pair<std::uint32_t, std::uint32_t>>>(rc::gen::pair(
            rc::gen::inRange<std::uint32_t>(1, 300), rc::gen::inRange<std::uint32_t>(1, 6)));
    for (const auto& [first, answer] : steps) answers[first] = answer;
    BpfInterpreter interpreter(search_program(answers));
    for (std::uint32_t value = 0; value < 310; ++value) {
      RC_ASSERT(interpreter.run(numbered(value)) == answer_for(answers, value));
    }
    RC_ASSERT(interpreter.run(numbered(0xffffffff)) == answers.rbegin()->second);
  }));
}

TEST(BpfAssembler, JumpsFartherThanEightBitsStillArrive) {
  std::map<std::uint32_t, std::uint32_t> answers;
  for (std::uint32_t i = 0; i < 1500; ++i) answers[i * 2] = i % 700;
  const auto program = search_program(answers);
  EXPECT_GT(program.size(), 1500u);
  BpfInterpreter interpreter(program);
  for (std::uint32_t value = 0; value < 3100; ++value) {
    ASSERT_EQ(interpreter.run(numbered(value)), answer_for(answers, value)) << value;
  }
}

TEST(BpfAssembler, BothSidesOfABranchMayLieFarAwayAtOnce) {
  for (std::uint32_t between = 250; between < 260; ++between) {
    BpfAssembler assembler;
    const BpfLabel no = assembler.give(1);
    const BpfLabel yes = assembler.give(2);
    for (std::uint32_t i = 0; i < between; ++i) assembler.give(3);
    const BpfLabel test = assembler.if_equal(7, yes, no);
    BpfInterpreter interpreter(assembler.finish(assembler.load(offsetof(seccomp_data, nr), test)));
    EXPECT_EQ(interpreter.run(numbered(7)), 2u) << between;
    EXPECT_EQ(interpreter.run(numbered(8)), 1u) << between;
  }
}

TEST(BpfAssembler, AStepThatIsThereIsNotWrittenAgain) {
  BpfAssembler assembler;
  const BpfLabel no = assembler.give(1);
  const BpfLabel yes = assembler.give(2);
  const BpfLabel first = assembler.load_argument(1, assembler.if_equal(7, yes, no));
  EXPECT_EQ(assembler.load_argument(1, assembler.if_equal(7, yes, no)), first);
  EXPECT_NE(assembler.load_argument(2, assembler.if_equal(7, yes, no)), first);
  EXPECT_NE(assembler.load_argument(1, assembler.if_equal(7, no, yes)), first);
  const BpfLabel entry = assembler.load_argument(0, assembler.if_equal(1, first, no));
  BpfInterpreter interpreter(assembler.finish(entry));
  seccomp_data data{};
  data.args[0] = 1;
  data.args[1] = 7;
  EXPECT_EQ(interpreter.run(data), 2u);
  data.args[1] = 8;
  EXPECT_EQ(interpreter.run(data), 1u);
}

TEST(BpfAssembler, ReadsTheLowHalfOfAnArgument) {
  BpfAssembler assembler;
  const BpfLabel no = assembler.give(1);
  const BpfLabel yes = assembler.give(2);
  const BpfLabel test = assembler.keep_bits(0xff, assembler.if_one_of({3, 5}, yes, no));
  BpfInterpreter interpreter(assembler.finish(assembler.load_argument(4, test)));
  seccomp_data data{};
  data.args[4] = 0xdeadbeef'00000105;
  EXPECT_EQ(interpreter.run(data), 2u);
  data.args[4] = 0x00000005'00000004;
  EXPECT_EQ(interpreter.run(data), 1u);
}

TEST(BpfAssemblerDeathTest, AProgramLongerThanTheKernelTakesIsABug) {
  const auto program_of = [](int length) {
    BpfAssembler assembler;
    BpfLabel last;
    for (int i = 0; i < length; ++i) last = assembler.give(1);
    return assembler.finish(last);
  };
  EXPECT_EQ(program_of(BPF_MAXINSNS).size(), static_cast<std::size_t>(BPF_MAXINSNS));
  EXPECT_DEATH(program_of(BPF_MAXINSNS + 1), "BPF_MAXINSNS");
}

TEST(BpfAssemblerDeathTest, AJumpOutOfTheProgramIsABug) {
  const sock_filter last = {BPF_RET | BPF_K, 0, 0, 0};
  const auto with_jump = [&](std::uint16_t code, std::uint8_t yes, std::uint8_t no,
                             std::uint32_t k) {
    return std::vector<sock_filter>{{code, yes, no, k}, last, last};
  };
  check_bpf_program(with_jump(BPF_JMP | BPF_JEQ | BPF_K, 1, 1, 0));
  check_bpf_program(with_jump(BPF_JMP | BPF_JA, 0, 0, 1));
  EXPECT_DEATH(check_bpf_program(with_jump(BPF_JMP | BPF_JEQ | BPF_K, 2, 0, 0)), "jt < left");
  EXPECT_DEATH(check_bpf_program(with_jump(BPF_JMP | BPF_JEQ | BPF_K, 0, 2, 0)), "jf < left");
  EXPECT_DEATH(check_bpf_program(with_jump(BPF_JMP | BPF_JA, 0, 0, 2)), "k < left");
  EXPECT_DEATH(check_bpf_program({}), "empty");
}

TEST(BpfAssemblerDeathTest, AProgramThatDoesNotEndWithAnAnswerIsABug) {
  const std::vector<sock_filter> program = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0}};
  EXPECT_DEATH(check_bpf_program(program), "BPF_RET");
}

TEST(BpfInterpreter, CountsBothSidesOfABranch) {
  BpfAssembler assembler;
  const BpfLabel no = assembler.give(1);
  const BpfLabel yes = assembler.give(2);
  const BpfLabel test = assembler.if_any_bit(4, yes, no);
  BpfInterpreter interpreter(assembler.finish(assembler.load(offsetof(seccomp_data, nr), test)));
  EXPECT_EQ(interpreter.run(numbered(4)), 2u);
  EXPECT_EQ(interpreter.unreached(), (std::vector<std::string>{"1 no", "3"}));
  EXPECT_EQ(interpreter.run(numbered(3)), 1u);
  EXPECT_EQ(interpreter.unreached(), std::vector<std::string>{});
}

}  // namespace
}  // namespace cordon
