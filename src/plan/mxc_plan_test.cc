#include <gtest/gtest.h>

#include "config/node.h"
#include "plan/made_up_host.h"

namespace cordon {
namespace {

using namespace testing;  // the made-up host

const ExecutorChoice kExecutor{"/opt/mxc/lxc-exec", "feed"};

// What an executor can hold: one writable directory, and what strict says.
Resolved writable_project() {
  Resolved request = resolved_preset("strict");
  request.write = {made_up_grant("/home/alex/project", 1)};
  return request;
}

Result<Plan> planned(const Resolved& request, const HostFacts& facts) {
  return make_mxc_plan(clamp(request, {}), facts, made_up_user(), made_up_request(), kExecutor);
}

const op::RunExecutor& executor_of(const Plan& plan) {
  for (const Op& operation : plan.build) {
    if (const auto* found = std::get_if<op::RunExecutor>(&operation)) return *found;
  }
  ADD_FAILURE() << "no executor in the plan";
  static const op::RunExecutor none;
  return none;
}

std::string expect_refused(const Resolved& request, const HostFacts& facts) {
  const auto plan = planned(request, facts);
  if (plan) return "planned";
  EXPECT_EQ(plan.error().kind, ErrorKind::Unsupported);
  EXPECT_FALSE(plan.error().hint.empty());
  return plan.error().what;
}

TEST(MxcPlan, TheDocument) {
  HostFacts facts = made_up_facts();
  facts.masked = {{"/home/alex/project/.env", FileKind::Regular, {64, 7}, "denied"}};
  facts.held = {{"/home/alex/project/.vscode", HoldKind::Editor, FileKind::Directory, {64, 8}}};
  facts.git = {{"/home/alex/project/.git",
                {64, 9},
                {{"/home/alex/project/.git", HoldKind::Git, FileKind::Directory, {64, 9}}},
                {{"/home/alex/project/.git/hooks", HoldKind::Git, FileKind::Directory, {64, 10}}},
                {{"/home/alex/project/.git/config", {64, 11}, "[core]\n"}}}};
  const auto plan = planned(writable_project(), facts);
  ASSERT_TRUE(plan) << message(plan.error());
  EXPECT_EQ(plan->backend, "mxc");
  EXPECT_EQ(executor_of(*plan).path, kExecutor.path);
  EXPECT_EQ(
      executor_of(*plan).document,
      R"({"version":"0.8.0-alpha","containment":"process","process":{"commandLine":"exec )"
      R"(/proc/self/fd/41 executor-inside","cwd":"/","env":[],"timeout":35000},"filesystem":{)"
      R"("readwritePaths":["/home/alex/project","/home/alex/project/.git"],"readonlyPaths":)"
      R"(["/usr","/etc/ld.so.cache","/etc/ssl/certs","/home/alex/project/.vscode",)"
      R"("/home/alex/project/.git/hooks","/home/alex/project/.git/config"],"deniedPaths":)"
      R"(["/home/alex/project/.env","/etc"]},"network":{"egress":{"default":"deny"},"ingress":)"
      R"({"default":"deny","hostLoopback":"deny"}}})");
}

TEST(MxcPlan, TheHostsNetworkIsSaidInFull) {
  Resolved request = writable_project();
  request.policy.net.mode = NetMode::Open;
  const auto plan = planned(request, made_up_facts());
  ASSERT_TRUE(plan) << message(plan.error());
  EXPECT_NE(executor_of(*plan).document.find(
                R"("network":{"defaultPolicy":"allow","allowLocalNetwork":true})"),
            std::string::npos);
}

TEST(MxcPlan, RulesForTheExecutorsRoot) {
  const auto plan = planned(writable_project(), made_up_facts());
  ASSERT_TRUE(plan);
  std::vector<std::string> rules;
  for (const Op& operation : plan->build) {
    if (std::holds_alternative<op::LandlockAllow>(operation)) rules.push_back(describe(operation));
  }
  // Not /etc as a whole, and both names of a directory that is a link on the host.
  EXPECT_EQ(rules,
            (std::vector<std::string>{
                "landlock allow /: list", "landlock allow /usr: read, execute",
                "landlock allow /proc: read", "landlock allow /dev: read, write, ioctl",
                "landlock allow /home/alex/project: read, write, execute",
                "landlock allow /bin: read, execute", "landlock allow /lib: read, execute",
                "landlock allow /etc/ld.so.cache: read", "landlock allow /etc/ssl/certs: read"}));
}

TEST(MxcPlan, NothingIsAskedOfTheExecutorThatItCannotHold) {
  const HostFacts facts = made_up_facts();
  Resolved request = writable_project();
  request.policy.fs.scratch = 1 << 20;
  EXPECT_NE(expect_refused(request, facts).find("fs.scratch"), std::string::npos);
  request = writable_project();
  request.policy.net.mode = NetMode::Allow;
  EXPECT_NE(expect_refused(request, facts).find("network mode allow"), std::string::npos);
  request = writable_project();
  request.policy.fs.home = HomeMode::Persistent;
  EXPECT_NE(expect_refused(request, facts).find("fs.home"), std::string::npos);
  request = writable_project();
  request.sockets = {made_up_grant("/run/agent.sock", 5)};
  EXPECT_NE(expect_refused(request, facts).find("net.sockets"), std::string::npos);
  request = writable_project();
  request.read = {made_up_grant("/srv/quo\"te", 6)};
  EXPECT_NE(expect_refused(request, facts).find("path"), std::string::npos);
  request.read = {made_up_grant("/srv/\xff", 6)};
  EXPECT_NE(expect_refused(request, facts).find("path"), std::string::npos);

  HostFacts masked = facts;
  masked.masked = {{"/home/alex/project/keys", FileKind::Directory, {64, 7}, "denied"}};
  EXPECT_NE(expect_refused(writable_project(), masked).find("/home/alex/project/keys"),
            std::string::npos);

  HostFacts without = facts;
  without.landlock_abi = 0;
  const auto refused = planned(writable_project(), without);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Unavailable);
  EXPECT_TRUE(planned(writable_project(), facts));
}

}  // namespace
}  // namespace cordon
