#include "cordon/runner.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace cordon {
namespace {

// Runs through the real kernel, with a state directory of its own.
class RunnerTest : public testing::Test {
 protected:
  void SetUp() override {
    // Tests that changed their effective user in this process have left it undumpable.
    ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    std::string place = (std::filesystem::temp_directory_path() / "cordon-runner.XXXXXX").string();
    ASSERT_NE(::mkdtemp(place.data()), nullptr);
    state_ = place;
    ::setenv("XDG_STATE_HOME", place.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("XDG_STATE_HOME");
    std::filesystem::remove_all(state_);
  }

  static Request request(std::vector<std::string> argv) {
    Request request;
    request.argv = std::move(argv);
    request.policy = *Policy::preset("strict");
    return request;
  }

  // A document in a directory of its own, which it makes writable.
  std::string document(const std::string& name) {
    std::filesystem::create_directory(state_ / name);
    const std::filesystem::path path = state_ / name / "policy.toml";
    std::ofstream(path) << "version = 1\n[fs]\nread = [\"@system\"]\nwrite = [\"" << state_.string()
                        << "/granted\"]\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_read);
    return path.string();
  }

  Runner runner_;

 private:
  std::filesystem::path state_;
};

TEST_F(RunnerTest, ReturnsWhatTheCommandPrintedAndItsStatus) {
  const Report report = runner_.run(request({"sh", "-c", "echo out; echo err >&2; exit 3"}));
  ASSERT_TRUE(report.outcome) << (report.error ? message(*report.error) : "");
  EXPECT_EQ(report.outcome->end, End(Exited{3}));
  EXPECT_EQ(report.outcome->out->text(), "out\n");
  EXPECT_EQ(report.outcome->err->text(), "err\n");
  EXPECT_TRUE(report.enforcement.landlock);
  EXPECT_TRUE(report.enforcement.seccomp);
}

TEST_F(RunnerTest, PassesItsInputAndNothingElse) {
  Request with_input = request({"cat"});
  with_input.input = std::string(200'000, 'x');
  const Report report = runner_.run(with_input);
  ASSERT_TRUE(report.outcome);
  EXPECT_EQ(report.outcome->out->bytes, 200'000U);
  const Report without = runner_.run(request({"cat"}));
  ASSERT_TRUE(without.outcome);
  EXPECT_EQ(without.outcome->out->bytes, 0U);
}

TEST_F(RunnerTest, KeepsWhatWasPrintedBeforeATimeout) {
  Request slow = request({"sh", "-c", "echo early; sleep 30"});
  slow.policy->limits.wall_ms = 300;
  const Report report = runner_.run(slow);
  ASSERT_TRUE(report.outcome);
  EXPECT_EQ(report.outcome->end, End(TimedOut{300}));
  EXPECT_EQ(report.outcome->out->text(), "early\n");
  EXPECT_LT(report.outcome->duration_ms, 2300U);
}

TEST_F(RunnerTest, EndsWhenItIsCancelledFromAnotherThread) {
  Request slow = request({"sleep", "25"});
  slow.cancel = Cancel();
  std::thread canceller([cancel = *slow.cancel] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    cancel.cancel();
  });
  const Report report = runner_.run(slow);
  canceller.join();
  ASSERT_TRUE(report.outcome);
  EXPECT_EQ(report.outcome->end, End(Cancelled{0}));
  EXPECT_LT(report.outcome->duration_ms, 5000U);
}

TEST_F(RunnerTest, CallsAMissingProgramAnErrorAndNotAnOutcome) {
  const Report report = runner_.run(request({"no-such-program"}));
  EXPECT_FALSE(report.outcome);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->kind, ErrorKind::Command);
  EXPECT_EQ(report.error->exit_status, 127);
}

TEST_F(RunnerTest, TakesNoInjectionVariableFromARequest) {
  Request injecting = request({"env"});
  injecting.policy->env.set = {{"NODE_OPTIONS", "--require=/x"}, {"PLAIN", "value"}};
  const Report report = runner_.run(injecting);
  ASSERT_TRUE(report.outcome) << (report.error ? message(*report.error) : "");
  const std::string printed = report.outcome->out->text();
  EXPECT_EQ(printed.find("NODE_OPTIONS"), std::string::npos) << printed;
  EXPECT_NE(printed.find("PLAIN=value"), std::string::npos) << printed;
  const Reduction expected{"env", "NODE_OPTIONS", std::nullopt, Reduction::Because::Forbidden};
  EXPECT_NE(std::find(report.reductions.begin(), report.reductions.end(), expected),
            report.reductions.end());
}

TEST_F(RunnerTest, RefusesToLetARunRewriteTheFileThatBoundsIt) {
  const Policy inside = *Policy::from_file(document("granted"));
  const Ceiling bound = *Ceiling::from_file(document("granted"));
  Request asked = request({"true"});
  asked.policy = *Policy::from_file(document("apart"));
  const Report fine = runner_.run(asked);
  EXPECT_TRUE(fine.outcome) << (fine.error ? message(*fine.error) : "");

  asked.ceilings = {bound};
  const Report bounded = runner_.run(asked);
  ASSERT_TRUE(bounded.error);
  EXPECT_EQ(bounded.error->kind, ErrorKind::Policy);

  asked.ceilings.clear();
  asked.policy = inside;
  const Report named = runner_.run(asked);
  ASSERT_TRUE(named.error);
  EXPECT_EQ(named.error->kind, ErrorKind::Policy);
}

TEST_F(RunnerTest, RefusesACallerThatCannotBeLookedAt) {
  ASSERT_EQ(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0), 0);
  const Report report = runner_.run(request({"true"}));
  ::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
  EXPECT_FALSE(report.outcome);
  ASSERT_TRUE(report.error);
  EXPECT_EQ(report.error->kind, ErrorKind::Unavailable);
  EXPECT_TRUE(runner_.run(request({"true"})).outcome);
}

TEST_F(RunnerTest, ManyThreadsRunAtOnceWithoutMixing) {
  constexpr int kThreads = 8;
  constexpr int kRuns = 6;
  std::vector<std::thread> threads;
  std::vector<std::string> wrong(kThreads);
  threads.reserve(kThreads);
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      for (int run = 0; run < kRuns; ++run) {
        const std::string tag = std::to_string(number) + "-" + std::to_string(run);
        const Report report = runner_.run(request({"echo", tag}));
        const std::string got = report.outcome ? report.outcome->out->text() : "no outcome";
        if (got != tag + "\n") wrong[static_cast<std::size_t>(number)] += got;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : wrong) EXPECT_EQ(text, "");
}

TEST_F(RunnerTest, TheBackendIsChosenOrNamed) {
  const Runner runner;
  Request plain = request({"/bin/true"});
  const Report chosen = runner.run(plain);
  ASSERT_TRUE(chosen.outcome) << message(*chosen.error);
  EXPECT_EQ(chosen.choice, (BackendChoice{BackendKind::Native, ChosenBy::Default, {}}));
  EXPECT_EQ(chosen.enforcement.backend, "native");
  // One that goes without a layer is refused until every ceiling accepts that.
  plain.backend = "landlock";
  EXPECT_EQ(runner.run(plain).error->kind, ErrorKind::Unsupported);
  Ceiling accepting;
  accepting.policy.require.accept_missing = {Layer::Namespaces};
  plain.ceilings = {accepting};
  const Report named = runner.run(plain);
  ASSERT_TRUE(named.outcome) << message(*named.error);
  EXPECT_EQ(named.enforcement.backend, "landlock");
  EXPECT_EQ(named.choice->by, ChosenBy::Caller);
  // The variable names it where the request does not, and a ceiling may forbid it.
  ::setenv("CORDON_BACKEND", "landlock", 1);
  plain.backend = "";
  EXPECT_EQ(runner.run(plain).enforcement.backend, "landlock");
  plain.backend = "native";
  EXPECT_EQ(runner.run(plain).enforcement.backend, "native");
  plain.backend = "";
  plain.ceilings.front().policy.require.backends = {{BackendKind::Native}};
  EXPECT_EQ(runner.run(plain).error->kind, ErrorKind::Policy);
  ::unsetenv("CORDON_BACKEND");
  EXPECT_EQ(runner.run(plain).enforcement.backend, "native");
  plain.backend = "nativ";
  EXPECT_EQ(runner.run(plain).error->kind, ErrorKind::Usage);
}

}  // namespace
}  // namespace cordon
