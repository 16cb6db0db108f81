#include "compat/seatbelt/seatbelt_backend.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <csignal>
#include <filesystem>

#include "compat/dialect/test_access.h"
#include "host/inspect.h"
#include "host/test_tree.h"
#include "support/sbpl_evaluator.h"

namespace cordon::seatbelt {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::PolicyAccess;
using testing::SbplProfile;
using testing::TestTree;

constexpr int kLong = 20'000;

// Stands in for sandbox-exec: writes down what it was called with and knows the profile that denies
// writing from those that do not; it confines nothing.
constexpr const char* kStub = R"sh(#!/bin/sh
for word; do printf '%s\n' "$word"; done > "$0.words"
[ "$1" = -p ] || exit 64
case $2 in *"(deny file-write*)"*) exit 1 ;; esac
shift 2
exec "$@"
)sh";

class SeatbeltRun : public ::testing::Test {
 protected:
  SeatbeltRun() {
    caller_.home = "/Users/alex";
    caller_.homes = {caller_.home};
    caller_.uid = 501;
    policy_.fs.write = {{"/Users/alex/p", {}}};
    request_.cwd = "/";
    request_.private_directory = tree_.at("private");
  }

  std::string program(const std::string& script) const {
    tree_.file("sandbox-exec", script);
    EXPECT_EQ(::chmod(tree_.at("sandbox-exec").c_str(), 0755), 0);
    return tree_.at("sandbox-exec");
  }
  [[nodiscard]] std::string content(const std::string& name) const {
    return read_all(Fd(::open(tree_.at(name).c_str(), O_RDONLY | O_CLOEXEC)).get(), 1 << 20)
        .value_or("");
  }
  Result<Plan> plan(const std::string& script) {
    request_.argv = {"/bin/sh", "-c", script};
    return make_backend()->plan(PolicyAccess(policy_).clamped(), {}, caller_, request_);
  }
  // The command of `plan` with its output in a file.
  Result<Launched> launch(const Plan& plan, const std::string& program) {
    out_ = Fd(::open(tree_.at("out").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    CommandStreams streams;
    streams.out = out_.get();
    const auto backend = make_backend_with(program);
    CORDON_TRY(building, backend->build(plan, {}, "0", streams));
    EXPECT_EQ(content("out"), "") << "something ran before the release";
    return building->release();
  }
  static ChildEvent wait_for(Child& child) {
    pollfd waited{child.event_descriptor(), POLLIN, 0};
    EXPECT_EQ(::poll(&waited, 1, kLong), 1);
    return child.event();
  }
  static int status_of(Child& child) {
    const ChildEvent event = wait_for(child);
    const auto* ended = std::get_if<ChildEnd>(&event);
    EXPECT_NE(ended, nullptr);
    return ended == nullptr ? -1 : ended->wait_status;
  }
  // Waits until the process that wrote its number into `name` is gone.
  [[nodiscard]] bool gone(const std::string& name) const {
    for (int tries = 0; tries < 2000; ++tries) {
      const std::string number = content(name);
      const std::string line = number.substr(0, number.find('\n'));
      if (!line.empty() && ::kill(std::stoi(line), 0) < 0) return true;
      ::usleep(5000);
    }
    return false;
  }

  TestTree tree_;
  Caller caller_;
  Policy policy_;
  PlanRequest request_;
  Fd out_;
};

TEST_F(SeatbeltRun, NothingRunsWhereThereIsNoMacOs) {
  const auto made = plan("true");
  ASSERT_TRUE(made) << made.error().what;
  EXPECT_EQ(make_backend()->probe().error().kind, ErrorKind::Unavailable);
  const auto backend = make_backend();
  const auto child = (*backend->build(*made, {}, "0", {}))->release();
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().kind, ErrorKind::Unavailable);
}

TEST_F(SeatbeltRun, GivesTheProfileAndTheCommand) {
  const auto made = plan("echo said; exit 3");
  ASSERT_TRUE(made) << made.error().what;
  const auto child = launch(*made, program(kStub));
  ASSERT_TRUE(child) << child.error().what;
  const int status = status_of(*child->child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3);
  EXPECT_EQ(content("out"), "said\n");
  const std::string words = content("sandbox-exec.words");
  EXPECT_TRUE(words.starts_with("-p\n(version 1)\n(deny default)\n")) << words;
  EXPECT_TRUE(words.ends_with("\n/bin/sh\n-c\necho said; exit 3\n")) << words;
  EXPECT_EQ(child->enforcement.backend, "seatbelt");
  EXPECT_EQ(child->enforcement.network, "none");
}

TEST_F(SeatbeltRun, PrivatePlacesAreMadeAndWritable) {
  policy_.fs.scratch = 1 << 20;
  policy_.fs.home = HomeMode::Private;
  const auto made = plan("printf '%s %s' \"$HOME\" \"$TMPDIR\"; : > \"$TMPDIR/file\"");
  ASSERT_TRUE(made) << made.error().what;
  const auto child = launch(*made, program(kStub));
  ASSERT_TRUE(child) << child.error().what;
  EXPECT_EQ(status_of(*child->child), 0);
  EXPECT_EQ(content("out"), tree_.at("private/home") + " " + tree_.at("private/tmp"));
  EXPECT_TRUE(std::filesystem::exists(tree_.at("private/tmp/file")));
  const auto& profile = std::get<op::LoadProfile>(made->confine[made->confine.size() - 2]);
  const SbplProfile sbpl(profile.text);
  EXPECT_TRUE(sbpl.allows("file-write*", "/private" + tree_.at("private/tmp/file")) ||
              sbpl.allows("file-write*", tree_.at("private/tmp/file")));
  EXPECT_FALSE(sbpl.allows("file-write*", tree_.at("elsewhere")));
}

TEST_F(SeatbeltRun, NeitherVariablesNorDescriptorsGetIn) {
  // Inherited, as a careless caller would have it.
  const Fd secret(::fcntl(STDERR_FILENO, F_DUPFD, 50));
  ASSERT_TRUE(secret.valid());
  ::setenv("CORDON_TEST_SECRET", "s3cret", 1);
  const auto made = plan("env; ls /proc/self/fd /dev/fd 2>/dev/null");
  const auto child = launch(*made, program(kStub));
  ::unsetenv("CORDON_TEST_SECRET");
  ASSERT_TRUE(child) << child.error().what;
  EXPECT_EQ(status_of(*child->child), 0);
  EXPECT_THAT(content("out"), Not(HasSubstr("s3cret")));
  EXPECT_THAT(content("out"), HasSubstr("PATH="));
  EXPECT_THAT(content("out"), Not(HasSubstr("\n" + std::to_string(secret.get()) + "\n")));
  EXPECT_THAT(content("out"), HasSubstr("\n2\n"));
}

TEST_F(SeatbeltRun, WhatTheCommandLeftBehindIsEnded) {
  const auto made =
      plan("sleep 600 & echo $! > " + tree_.at("left") + "; exec > /dev/null; exit 0");
  const auto child = launch(*made, program(kStub));
  ASSERT_TRUE(child) << child.error().what;
  EXPECT_EQ(status_of(*child->child), 0);
  EXPECT_TRUE(gone("left"));
}

TEST_F(SeatbeltRun, SignalsReachItAndItEndsWithItsOwner) {
  const auto made = plan("trap 'echo told; exit 5' TERM; echo $$ > " + tree_.at("number") +
                         "; while :; do sleep 0.05; done");
  auto child = launch(*made, program(kStub));
  ASSERT_TRUE(child) << child.error().what;
  for (int tries = 0; tries < 2000 && content("number").empty(); ++tries) ::usleep(5000);
  EXPECT_TRUE(std::holds_alternative<ChildRuns>(child->child->event()));
  child->child->signal(SIGTERM);
  const int status = status_of(*child->child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 5);
  EXPECT_EQ(content("out"), "told\n");

  tree_.file("number", "");
  auto other = launch(*made, program(kStub));
  ASSERT_TRUE(other);
  for (int tries = 0; tries < 2000 && content("number").empty(); ++tries) ::usleep(5000);
  EXPECT_EQ(::kill(std::stoi(content("number")), 0), 0);
  other->child.reset();
  EXPECT_TRUE(gone("number"));
}

TEST_F(SeatbeltRun, BoundsHold) {
  policy_.limits.files = 20;
  const auto made = plan("ulimit -n; ulimit -c");
  ASSERT_TRUE(made) << made.error().what;
  const auto child = launch(*made, program(kStub));
  ASSERT_TRUE(child) << child.error().what;
  EXPECT_EQ(status_of(*child->child), 0);
  EXPECT_EQ(content("out"), "20\n0\n");
}

TEST_F(SeatbeltRun, RefusesAProgramThatDoesNotConfine) {
  EXPECT_TRUE(check_sandbox_exec(program(kStub)));
  EXPECT_THAT(check_sandbox_exec(program("#!/bin/sh\nshift 2\nexec \"$@\"\n")).error().what,
              HasSubstr("does not confine"));
  EXPECT_THAT(check_sandbox_exec(program("#!/bin/sh\nexit 1\n")).error().what,
              HasSubstr("cannot run a command"));
  EXPECT_THAT(check_sandbox_exec(program("#!/bin/sh\nexec sleep 600\n")).error().what,
              HasSubstr("did not end within 5 s"));
  EXPECT_FALSE(check_sandbox_exec(tree_.at("absent")));
  const auto made = plan("touch " + tree_.at("ran"));
  EXPECT_FALSE(launch(*made, program("#!/bin/sh\nshift 2\nexec \"$@\"\n")));
  EXPECT_FALSE(std::filesystem::exists(tree_.at("ran")));
}

TEST_F(SeatbeltRun, AMissingCommandIsTold) {
  request_.argv = {"/nowhere/at-all"};
  const auto made = make_backend()->plan(PolicyAccess(policy_).clamped(), {}, caller_, request_);
  ASSERT_TRUE(made);
  const auto child = launch(*made, program(kStub));
  ASSERT_FALSE(child);
  EXPECT_EQ(child.error().exit_status, 127);
}

TEST_F(SeatbeltRun, RefusesWhatAProfileCannotHold) {
  const auto refused = [&](const Policy& policy) {
    request_.argv = {"/bin/true"};
    const auto made = make_backend()->plan(PolicyAccess(policy).clamped(), {}, caller_, request_);
    return !made && made.error().kind == ErrorKind::Unsupported;
  };
  EXPECT_FALSE(refused(policy_));
  Policy memory = policy_;
  memory.limits.memory = 1 << 30;
  EXPECT_TRUE(refused(memory));
  Policy cpus = policy_;
  cpus.limits.cpus_milli = 500;
  EXPECT_TRUE(refused(cpus));
  Policy layers = policy_;
  layers.require.layers = {Layer::Landlock};
  EXPECT_TRUE(refused(layers));
  Policy hosts = policy_;
  hosts.net.mode = NetMode::Allow;
  EXPECT_TRUE(refused(hosts));
}

// The style that holds writing alone is for whole agents, and only where nothing else is asked for.
TEST_F(SeatbeltRun, WholeAgentsGetTheOtherStyle) {
  policy_.fs.read = {{"/", {}}};
  policy_.net.mode = share_the_hosts_network();
  EXPECT_THAT(describe(*plan("true")), HasSubstr("(deny default)"));
  policy_.agent.name = "claude";
  EXPECT_THAT(describe(*plan("true")), HasSubstr("(allow default)"));
  policy_.net.mode = NetMode::None;
  EXPECT_THAT(describe(*plan("true")), HasSubstr("(deny default)"));
}

}  // namespace
}  // namespace cordon::seatbelt
