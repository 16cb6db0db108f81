#include "cordon/runner.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cordon/probe.h"
#include "cordon/session.h"

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

  // A ceiling that bounds nothing of the preset strict but by what is appended.
  std::string ceiling(const std::string& more) const {
    const std::filesystem::path path = state_ / "ceiling.toml";
    std::ofstream(path) << "version = 1\n" << more;
    std::filesystem::permissions(
        path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
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
  with_input.in = Input::of_bytes(std::string(200'000, 'x'));
  const Report report = runner_.run(with_input);
  ASSERT_TRUE(report.outcome);
  EXPECT_EQ(report.outcome->out->bytes, 200'000U);
  const Report without = runner_.run(request({"cat"}));
  ASSERT_TRUE(without.outcome);
  EXPECT_EQ(without.outcome->out->bytes, 0U);
}

TEST_F(RunnerTest, KeepsWhatWasPrintedBeforeATimeout) {
  Request slow = request({"sh", "-c", "echo early; sleep 30"});
  slow.policy->limits.wall_ms = 3000;
  const Report report = runner_.run(slow);
  ASSERT_TRUE(report.outcome);
  EXPECT_EQ(report.outcome->end, End(TimedOut{3000}));
  EXPECT_EQ(report.outcome->out->text(), "early\n");
  EXPECT_LT(report.outcome->duration_ms, 20'000U);
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
  EXPECT_LT(report.outcome->duration_ms, 20'000U);
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
  accepting.policy.require.accept_missing = {run_without(Layer::Namespaces)};
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

TEST_F(RunnerTest, TellsOutputAsItComesAndKeepsItToo) {
  Request told = request({"sh", "-c", "head -c 50000 /dev/zero; echo err >&2"});
  told.policy->limits.output = 1024;
  std::string out;
  std::string err;
  told.out = Output::heard_by([&](OutputFrom from, std::string_view bytes) {
    (from == OutputFrom::Out ? out : err).append(bytes);
  });
  const Report report = runner_.run(told);
  ASSERT_TRUE(report.outcome);
  EXPECT_EQ(out, std::string(50'000, '\0'));
  EXPECT_EQ(err, "err\n");
  EXPECT_TRUE(report.outcome->out->truncated());
  EXPECT_EQ(report.outcome->err->text(), "err\n");
}

// A file whose position both sides of a run can be seen by.
class OwnFile {
 public:
  explicit OwnFile(std::string_view content) : file_(std::tmpfile()) {
    std::fwrite(content.data(), 1, content.size(), file_);
    std::rewind(file_);
  }
  ~OwnFile() { std::fclose(file_); }
  OwnFile(const OwnFile&) = delete;
  OwnFile& operator=(const OwnFile&) = delete;
  [[nodiscard]] int descriptor() const { return ::fileno(file_); }
  [[nodiscard]] long position() const { return ::lseek(descriptor(), 0, SEEK_CUR); }
  [[nodiscard]] std::string content() const {
    std::string text(1000, '\0');
    const ssize_t got = ::pread(descriptor(), text.data(), text.size(), 0);
    return text.substr(0, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  }

 private:
  std::FILE* file_;
};

TEST_F(RunnerTest, PassesStreamsToDescriptorsOfTheCaller) {
  const OwnFile in("first\nsecond\n");
  const OwnFile out("");
  const OwnFile err("");
  Request passed = request({"sh", "-c", "read line; echo got $line; echo err >&2"});
  passed.in = Input::drawn_from(in.descriptor());
  passed.out = Output::unfiltered_to(out.descriptor(), err.descriptor());
  const Report report = runner_.run(passed);
  ASSERT_TRUE(report.outcome) << (report.error ? message(*report.error) : "");
  EXPECT_EQ(out.content(), "got first\n");
  EXPECT_EQ(err.content(), "err\n");
  EXPECT_FALSE(report.outcome->out);
  EXPECT_GE(in.position(), 6);
}

TEST_F(RunnerTest, RefusesADescriptorThatIsNotOpen) {
  const int closed = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(closed);
  Request to_nobody = request({"true"});
  to_nobody.out = Output::unfiltered_to(closed, closed);
  const Report refused = runner_.run(to_nobody);
  ASSERT_TRUE(refused.error);
  EXPECT_EQ(refused.error->kind, ErrorKind::Usage);
  Request from_nobody = request({"true"});
  from_nobody.in = Input::drawn_from(closed);
  EXPECT_TRUE(runner_.run(from_nobody).error);
  to_nobody.out = Output::unfiltered_to(-1, -1);
  EXPECT_TRUE(runner_.run(to_nobody).outcome);
}

// What a command wrote to its standard output is in the caller's file, and the file is not the
// command's: it can be neither truncated nor opened by its name.
TEST_F(RunnerTest, HandsNoFileOfTheCallerOver) {
  const OwnFile out("");
  Request passed = request({"sh", "-c", "test -p /dev/stdout && echo a pipe"});
  passed.policy->fs.read.push_back({"@system", {}});
  passed.out = Output::unfiltered_to(out.descriptor(), -1);
  ASSERT_TRUE(runner_.run(passed).outcome);
  EXPECT_EQ(out.content(), "a pipe\n");
}

TEST_F(RunnerTest, ReadsTheCeilingsAnewUnlessItReadThemOnce) {
  const std::string file = ceiling("");
  ::setenv("CORDON_CEILING", file.c_str(), 1);
  const auto once = Runner::reading_once();
  ASSERT_TRUE(once) << message(once.error());
  const auto wall = [&](const Runner& runner) {
    const auto left = runner.clamp(request({"true"}));
    EXPECT_TRUE(left) << message(left.error());
    return left ? left->policy.limits.wall_ms.value_or(0) : 0;
  };
  EXPECT_EQ(wall(runner_), 30'000U);
  EXPECT_EQ(wall(*once), 30'000U);
  ceiling("[limits]\nwall = \"1s\"\n");
  EXPECT_EQ(wall(runner_), 1000U);
  EXPECT_EQ(wall(*once), 30'000U);
  ::unsetenv("CORDON_CEILING");
}

TEST_F(RunnerTest, CannotBeMadeUnderACeilingThatCannotBeRead) {
  ::setenv("CORDON_CEILING", "/nowhere/ceiling.toml", 1);
  const auto once = Runner::reading_once();
  ::unsetenv("CORDON_CEILING");
  ASSERT_FALSE(once);
  EXPECT_EQ(once.error().kind, ErrorKind::Policy);
}

TEST_F(RunnerTest, ClampsByTheCeilingsOfTheRequest) {
  Request bounded = request({"true"});
  bounded.policy->env.set = {{"NODE_OPTIONS", "--require=/x"}, {"PLAIN", "value"}};
  auto bound = Ceiling::from_toml("version = 1\n[limits]\nwall = \"2s\"\n[env]\npass = []\n", "/");
  ASSERT_TRUE(bound) << message(bound.error());
  bounded.ceilings = {*bound};
  const auto left = runner_.clamp(bounded);
  ASSERT_TRUE(left) << message(left.error());
  EXPECT_EQ(left->ceilings, std::vector<std::string>{"ceiling text"});
  EXPECT_EQ(left->policy.limits.wall_ms, 2000U);
  EXPECT_TRUE(left->policy.env.set.empty());
  // Both names are gone, each for its own reason, and the text says so.
  EXPECT_NE(left->text.find("# reduced env PLAIN: outside-ceiling\n"), std::string::npos)
      << left->text;
  EXPECT_NE(left->text.find("# reduced env NODE_OPTIONS: forbidden\n"), std::string::npos)
      << left->text;
  const auto again = Policy::from_toml(left->text, "/");
  ASSERT_TRUE(again) << message(again.error());
  EXPECT_EQ(again->limits, left->policy.limits);
}

TEST_F(RunnerTest, ExplainsWhatWouldBeAllowed) {
  Request asked;
  asked.policy = *Policy::preset("strict");
  const auto host = parse_host_rule("example.com:443");
  ASSERT_TRUE(host);
  asked.policy->net.allow_host(*host);
  const auto yes = runner_.explain(asked, {Question::Access::Connect, "example.com:443"});
  ASSERT_TRUE(yes) << message(yes.error());
  EXPECT_TRUE(yes->allowed);
  const auto no = runner_.explain(asked, {Question::Access::Connect, "example.org:443"});
  ASSERT_TRUE(no) << message(no.error());
  EXPECT_FALSE(no->allowed);
  EXPECT_NE(no->rule, "");
  EXPECT_NE(no->change, "");
  EXPECT_TRUE(no->text.starts_with("no: connect example.org:443\n")) << no->text;
  EXPECT_NE(no->json.find("\"cordon.explain/1\""), std::string::npos);
  EXPECT_FALSE(runner_.explain(asked, {Question::Access::Connect, "example.org"}));
}

TEST_F(RunnerTest, PlansWithoutStartingAnything) {
  const auto plan = runner_.plan(request({"true"}));
  ASSERT_TRUE(plan) << message(plan.error());
  EXPECT_EQ(plan->choice.backend, BackendKind::Native);
  EXPECT_NE(plan->text.find("true"), std::string::npos);
  EXPECT_NE(plan->json.find("\"cordon.plan/1\""), std::string::npos);
  EXPECT_FALSE(runner_.plan(request({})));
}

TEST(Probe, AnswersForABackend) {
  const auto native = probe(BackendKind::Native);
  ASSERT_TRUE(native) << message(native.error());
  EXPECT_EQ(native->backend, BackendKind::Native);
  EXPECT_TRUE(native->fs_read && native->fs_write && native->tree_kill);
  const auto absent = probe(BackendKind::ProcessContainer);
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().kind, ErrorKind::Unsupported);
}

TEST(PolicyText, IsReadAndWrittenAsTheSame) {
  const auto policy = Policy::from_toml(
      "version = 1\n[fs]\nread = [\"data\", \"/usr\"]\n[net]\nallow = [\"example.com:443\"]\n",
      "/srv/project");
  ASSERT_TRUE(policy) << message(policy.error());
  EXPECT_EQ(policy->net.mode, NetMode::Allow);
  ASSERT_EQ(policy->fs.read.size(), 2U);
  EXPECT_EQ(policy->fs.read.front().base, "/srv/project");
  const auto again = Policy::from_toml(policy->toml(), "/srv/project");
  ASSERT_TRUE(again) << message(again.error());
  EXPECT_EQ(*again, *policy);
}

TEST(PolicyText, IsRefusedWithItsPlace) {
  const auto wrong = Policy::from_toml("version = 1\n[fs]\nwrote = []\n", "/srv");
  ASSERT_FALSE(wrong);
  ASSERT_TRUE(wrong.error().place);
  EXPECT_EQ(wrong.error().place->line, 3U);
  EXPECT_NE(wrong.error().hint, "");
  // Relative paths would be looked for wherever the process stands.
  const auto nowhere = Policy::from_toml("version = 1\n", "srv");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, ErrorKind::Usage);
  EXPECT_FALSE(Ceiling::from_toml("version = 1\n", ""));
}

TEST(EntraIdentities, AreRefusedByTheirType) {
  const auto refused = [](EntraIdentity identity) {
    const auto session = Runner().open_session({}, {.entra = std::move(identity)});
    return session ? std::optional<ErrorKind>() : session.error().kind;
  };
  const std::string uuid = "0f8fad5b-d9cb-469f-a165-70867728950e";
  EXPECT_EQ(refused({uuid, uuid, {}}), ErrorKind::Unsupported);
  EXPECT_EQ(refused({uuid, uuid, uuid}), ErrorKind::Unsupported);
  for (const char* bad : {"", "claude", "0f8fad5b-d9cb-469f-a165-70867728950",
                          "0f8fad5b-d9cb-469f-a165-70867728950g"}) {
    EXPECT_EQ(refused({bad, uuid, {}}), ErrorKind::Usage) << bad;
    EXPECT_EQ(refused({uuid, bad, {}}), ErrorKind::Usage) << bad;
  }
  EXPECT_EQ(refused({uuid, uuid, "policy"}), ErrorKind::Usage);
}

}  // namespace
}  // namespace cordon
