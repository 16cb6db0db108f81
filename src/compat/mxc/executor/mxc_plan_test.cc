#include <gtest/gtest.h>

#include <algorithm>

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
  return make_mxc_plan(*clamp(request, {}), facts, made_up_user(), made_up_request(), kExecutor);
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
  const auto plan = planned(resolved_preset("workspace"), made_up_facts());
  ASSERT_TRUE(plan) << message(plan.error());
  EXPECT_EQ(plan->backend, BackendKind::Mxc);
  EXPECT_EQ(executor_of(*plan).path, kExecutor.path);
  EXPECT_EQ(
      executor_of(*plan).document,
      R"({"version":"0.8.0-alpha","containment":"process","process":{"commandLine":"exec )"
      R"(/proc/self/fd/41 executor-inside","cwd":"/","env":[]},"filesystem":{)"
      R"("readwritePaths":["/tmp","/var/tmp","/dev/shm","/run","/home/alex","/home/alex/project"],)"
      R"("readonlyPaths":["/usr","/etc/ld.so.cache","/etc/ssl/certs","/home/alex/.pyenv/versions"],)"
      R"("deniedPaths":[]},"network":{"egress":{"default":"deny"},"ingress":)"
      R"({"default":"deny","hostLoopback":"deny"}}})");
}

TEST(MxcPlan, TheExecutorsOwnClockComesSecond) {
  const auto plan = planned(writable_project(), made_up_facts());
  ASSERT_TRUE(plan);
  EXPECT_NE(executor_of(*plan).document.find(R"("timeout":35000)"), std::string::npos);
}

// The position of an operation among the lines of a plan; the end if there is none.
std::size_t place_of(const std::vector<std::string>& lines, const std::string& line) {
  return static_cast<std::size_t>(std::ranges::find(lines, line) - lines.begin());
}

TEST(MxcPlan, TheViewIsBuiltAroundTheExecutor) {
  HostFacts facts = made_up_facts();
  facts.masked = {{"/home/alex/project/keys", FileKind::Directory, {64, 7}, "denied"}};
  facts.git = {{"/home/alex/project/.git",
                {64, 9},
                {{"/home/alex/project/.git", HoldKind::Git, FileKind::Directory, {64, 9}}},
                {},
                {{"/home/alex/project/.git/config", {64, 11}, "[core]\n"}}}};
  const auto plan = planned(writable_project(), facts);
  ASSERT_TRUE(plan) << message(plan.error());
  std::vector<std::string> lines;
  for (const Op& operation : plan->build) lines.push_back(describe(operation));
  const std::size_t executor = place_of(lines, describe(Op(executor_of(*plan))));
  const std::size_t pivot = place_of(lines, "pivot into the new root, detach the old one");
  EXPECT_EQ(executor, pivot + 1);
  // Bubblewrap needs it, whatever the policy says.
  EXPECT_EQ(lines[pivot - 1], "directory /tmp 0755");
  const op::Mask mask{"/home/alex/project/keys", FileKind::Directory, {64, 7}, "denied"};
  const op::Hold held{
      "/home/alex/project/.git/config", {64, 11}, MountAccess::ReadOnly, "git configuration"};
  EXPECT_LT(place_of(lines, describe(Op(mask))), pivot);
  EXPECT_LT(place_of(lines, describe(Op(held))), pivot);
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find("/proc/k"), std::string::npos) << line;
    EXPECT_EQ(line.find("landlock allow /dev/cordon"), std::string::npos) << line;
  }
  EXPECT_TRUE(plan->seal.empty());
}

TEST(MxcPlan, TheHostsNetworkIsSaidInFull) {
  Resolved request = writable_project();
  request.policy.net.mode = share_the_hosts_network();
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
  // Both names of a directory that is a link on the host: in the executor's root it is none.
  EXPECT_EQ(rules,
            (std::vector<std::string>{
                "landlock allow /: list", "landlock allow /usr: read, execute",
                "landlock allow /etc: read", "landlock allow /proc: read",
                "landlock allow /dev: read, write, ioctl",
                "landlock allow /home/alex/project: read, write, execute",
                "landlock allow /bin: read, execute", "landlock allow /lib: read, execute"}));
}

// The executor of one architecture shows no /lib64 that packages of another one made.
TEST(MxcPlan, ALinkThatTheExecutorDoesNotShowIsNoError) {
  HostFacts facts = made_up_facts();
  facts.system.push_back({"/lib64", SystemEntry::Kind::Symlink, "usr/lib64"});
  const auto plan = planned(writable_project(), facts);
  ASSERT_TRUE(plan);
  for (const Op& operation : plan->build) {
    const auto* rule = std::get_if<op::LandlockAllow>(&operation);
    if (rule == nullptr) continue;
    const bool link = rule->path == "/lib64" || rule->path == "/lib" || rule->path == "/bin";
    EXPECT_EQ(rule->optional, link) << rule->path;
  }
}

TEST(MxcPlan, NothingIsAskedOfTheExecutorThatItCannotHold) {
  const HostFacts facts = made_up_facts();
  Resolved request = writable_project();
  request.policy.net.mode = NetMode::Allow;
  EXPECT_NE(expect_refused(request, facts).find("network mode allow"), std::string::npos);
  request = writable_project();
  request.sockets = {made_up_grant("/run/agent.sock", 5)};
  EXPECT_NE(expect_refused(request, facts).find("net.sockets"), std::string::npos);
  request = writable_project();
  request.read = {made_up_grant("/srv/quo\"te", 6)};
  EXPECT_NE(expect_refused(request, facts).find("path"), std::string::npos);
  request.read = {made_up_grant("/srv/\xff", 6)};
  EXPECT_NE(expect_refused(request, facts).find("path"), std::string::npos);

  HostFacts without = facts;
  without.landlock_abi = 0;
  const auto refused = planned(writable_project(), without);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Unavailable);
  EXPECT_TRUE(planned(writable_project(), facts));
}

}  // namespace
}  // namespace cordon
