#include "run/line.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>

#include "host/resolve.h"

namespace cordon {
namespace {

// Keeps what it hears, and calls back when it first heard something.
class OutputTap {
 public:
  void hear(OutputFrom from, std::string_view bytes) {
    (from == OutputFrom::Out ? out : err).append(bytes);
    if (on_output) on_output();
  }
  std::string out;
  std::string err;
  std::function<void()> on_output;
};

class ContainedRunTest : public testing::Test {
 protected:
  void SetUp() override {
    ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    std::string place = (std::filesystem::temp_directory_path() / "cordon-run.XXXXXX").string();
    ASSERT_NE(::mkdtemp(place.data()), nullptr);
    state_ = place;
    ::setenv("XDG_STATE_HOME", place.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("XDG_STATE_HOME");
    std::filesystem::remove_all(state_);
  }

  RunInput input(std::vector<std::string> argv) {
    RunInput input;
    input.argv = std::move(argv);
    input.policy = *Policy::preset("strict");
    input.streams.out = Output::heard_by(
        [this](OutputFrom from, std::string_view bytes) { tap_.hear(from, bytes); });
    return input;
  }
  static Outcome run(const RunInput& input) {
    const Report report = run_contained(input, *identify_caller());
    EXPECT_TRUE(report.outcome) << (report.error ? message(*report.error) : "");
    return report.outcome.value_or(Outcome{});
  }

  OutputTap tap_;

  std::filesystem::path state_;
};

TEST_F(ContainedRunTest, AListenerHearsBothStreamsPastWhatIsKept) {
  RunInput loud = input({"sh", "-c", "head -c 50000 /dev/zero; echo err >&2"});
  loud.policy.limits.output = 1024;
  const Outcome outcome = run(loud);
  EXPECT_EQ(tap_.out, std::string(50'000, '\0'));
  EXPECT_EQ(tap_.err, "err\n");
  EXPECT_TRUE(outcome.out->truncated());
}

TEST_F(ContainedRunTest, APolicyFileThatIsGoneIsRefused) {
  RunInput gone = input({"true"});
  gone.policy.file = "/nowhere/at/all.toml";
  const Report report = run_contained(gone, *identify_caller());
  EXPECT_FALSE(report.outcome);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->kind, ErrorKind::Policy);
  gone.policy.file = "/etc/passwd";
  run(gone);
}

TEST_F(ContainedRunTest, APipeBelongsToTheCommandAlone) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  Fd writer(ends[1]);
  ::fcntl(ends[0], F_SETFL, 0);
  RunInput reader = input({"sh", "-c", "read line; echo got $line"});
  reader.streams.input_pipe = std::make_shared<Fd>(ends[0]);
  ASSERT_EQ(::write(writer.get(), "word\n", 5), 5);
  run(reader);
  EXPECT_EQ(tap_.out, "got word\n");
  // Although the request still lives, nobody holds the other end.
  struct sigaction ignore {};
  struct sigaction before {};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  EXPECT_EQ(::write(writer.get(), "more\n", 5), -1);
  EXPECT_EQ(errno, EPIPE);
  ::sigaction(SIGPIPE, &before, nullptr);
}

// SIGPIPE has its default here, as in a program that uses the library.
TEST_F(ContainedRunTest, InputThatNobodyReadsEndsNobody) {
  RunInput deaf = input({"sh", "-c", "exec 0<&-; echo deaf; sleep 0.1"});
  deaf.streams.in = Input::of_bytes(std::string(std::size_t{4} << 20U, 'x'));
  EXPECT_EQ(run(deaf).end, End(Exited{0}));
  EXPECT_EQ(tap_.out, "deaf\n");
}

TEST_F(ContainedRunTest, OnlyAPipeIsHandedOver) {
  RunInput wrong = input({"cat"});
  wrong.streams.input_pipe = std::make_shared<Fd>(::open("/etc/hostname", O_RDONLY | O_CLOEXEC));
  const Report report = run_contained(wrong, *identify_caller());
  EXPECT_FALSE(report.outcome);
  EXPECT_EQ(tap_.out, "");
}

TEST_F(ContainedRunTest, ACommandThatIsAskedToEndMayTakeItsTime) {
  RunInput polite =
      input({"sh", "-c", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"});
  polite.terminate = Cancel();
  tap_.on_output = [cancel = *polite.terminate] { cancel.cancel(); };
  const Outcome outcome = run(polite);
  EXPECT_EQ(tap_.out, "up\nbye\n");
  EXPECT_EQ(outcome.end, End(Cancelled{SIGTERM}));
}

// One that is missing among those that a caller has looked up counts all the same.
TEST_F(ContainedRunTest, NoCeilingIsForgotten) {
  const auto caller = identify_caller();
  ASSERT_TRUE(caller);
  Policy policy;
  policy.name = "test";
  policy.fs.read = {{state_.string(), {}}};
  Ceiling ceiling;
  ceiling.id = "none";
  ceiling.policy.name = "none";
  JudgedPlaces places;
  places.start = std::string();
  const auto reads = [&](const std::vector<Ceiling>& ceilings) {
    const auto judged = judge_policy(policy, ceilings, *caller, places);
    EXPECT_TRUE(judged);
    return judged && std::ranges::any_of(judged->clamped.effective().read, [&](const Grant& grant) {
             return grant.path == state_.string();
           });
  };
  EXPECT_TRUE(reads({}));
  EXPECT_FALSE(reads({ceiling}));
  places.ceilings.emplace();
  EXPECT_FALSE(reads({ceiling}));
}

}  // namespace
}  // namespace cordon
