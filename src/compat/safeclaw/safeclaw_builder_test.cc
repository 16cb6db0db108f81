#include "compat/safeclaw/safeclaw_builder.h"

#include <gmock/gmock.h>

#include "compat/safeclaw/safeclaw_policy.h"

namespace cordon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> lines(const std::vector<SafeClawRule>& rules) {
  std::vector<std::string> out;
  out.reserve(rules.size());
  for (const SafeClawRule& rule : rules) {
    out.push_back(std::string(name_of(rule.access)) + " " + rule.path);
  }
  return out;
}

TEST(SafeClawBuilder, IsAChain) {
  const auto built = SafeClawBuilder()
                         .add_read_only("/r")
                         .add_read_execute("/x/")
                         .add_read_write("/w")
                         .add_read_write_execute("/a")
                         .build();
  ASSERT_TRUE(built);
  EXPECT_THAT(lines(built->policy.allow),
              ElementsAre("read /r", "execute /x", "readwrite /w", "readwriteexecute /a"));
  EXPECT_THAT(built->conflicts, IsEmpty());
}

// R-271: whatever the order, a second rule never widens.
TEST(SafeClawBuilder, KeepsWhatBothRulesPermitAndTells) {
  const auto wider = SafeClawBuilder().add_read_only("/p").add_read_write("//p/").build();
  ASSERT_TRUE(wider);
  EXPECT_THAT(lines(wider->policy.allow), ElementsAre("read /p"));
  EXPECT_THAT(wider->conflicts,
              ElementsAre(RuleConflict{"/p", SafeClawAccess::Read, SafeClawAccess::ReadWrite,
                                       SafeClawAccess::Read}));
  const auto narrower = SafeClawBuilder().add_read_write("/p").add_read_only("/p").build();
  EXPECT_THAT(lines(narrower->policy.allow), ElementsAre("read /p"));
  EXPECT_EQ(narrower->conflicts.size(), 1U);
  const auto crossed = SafeClawBuilder().add_read_write("/p").add_read_execute("/p").build();
  EXPECT_THAT(lines(crossed->policy.allow), ElementsAre("read /p"));
  const auto same = SafeClawBuilder().add_read_write("/p").add_read_write("/p").build();
  EXPECT_THAT(lines(same->policy.allow), ElementsAre("readwrite /p"));
  EXPECT_THAT(same->conflicts, IsEmpty());
}

TEST(SafeClawBuilder, RefusesWhatItsHelperWouldRefuse) {
  EXPECT_FALSE(SafeClawBuilder().add_read_only("relative").build());
  SafeClawBuilder many;
  for (int i = 0; i < 64; ++i) many.add_read_only("/p" + std::to_string(i));
  EXPECT_TRUE(many.build());
  EXPECT_FALSE(many.add_read_only("/one-more").build());
}

const DevelopmentPlaces kPlaces{
    "/home/u/project", "/tmp", {"/usr/bin", "/opt/node"}, {"/etc/passwd", "/home/u/.gitconfig"}};

TEST(DevelopmentPolicy, IsThis) {
  const auto built = development_policy(kPlaces, {});
  ASSERT_TRUE(built);
  EXPECT_THAT(lines(built->policy.allow),
              ElementsAre("readwriteexecute /home/u/project", "readwrite /tmp", "execute /usr/bin",
                          "execute /opt/node", "read /etc/passwd", "read /home/u/.gitconfig",
                          "readwrite /dev/null", "read /dev/urandom", "read /dev/zero"));
  EXPECT_EQ(built->policy.network.reach, SafeClawNetwork::Reach::None);
  EXPECT_THAT(built->conflicts, IsEmpty());
}

TEST(DevelopmentPolicy, TakesFurtherPathsAndDomains) {
  DevelopmentOptions options{{"/opt/tool", "/usr/bin"}, {"/data"}, {"/docs", "/data"}, {}};
  const auto built = development_policy(kPlaces, options);
  ASSERT_TRUE(built);
  const auto rules = lines(built->policy.allow);
  EXPECT_THAT(rules, ::testing::IsSupersetOf({"execute /opt/tool", "read /data", "read /docs"}));
  EXPECT_EQ(std::count(rules.begin(), rules.end(), "execute /usr/bin"), 1);
  EXPECT_EQ(built->conflicts.size(), 1U);
  options.domains.emplace();
  EXPECT_EQ(development_policy(kPlaces, options)->policy.network.reach,
            SafeClawNetwork::Reach::Domains);
}

std::string settings(const SafeClawPolicy& policy, const std::vector<std::string>& stores = {}) {
  return write_json(to_runtime_config(policy, stores), JsonStyle::Compact);
}

TEST(RuntimeConfig, OfFivePolicies) {
  EXPECT_EQ(settings(default_policy()->policy),
            R"({"network":{"allowedDomains":[],"deniedDomains":[]},)"
            R"("filesystem":{"denyRead":[],"allowWrite":[],"denyWrite":[]}})");
  EXPECT_EQ(settings(development_policy(kPlaces, {})->policy, {"/home/u/.ssh"}),
            R"({"network":{"allowedDomains":[],"deniedDomains":[]},)"
            R"("filesystem":{"denyRead":["/home/u/.ssh"],)"
            R"("allowWrite":["/home/u/project","/tmp"],"denyWrite":[]}})");
  DevelopmentOptions options;
  options.domains = {"a.example", "*.b.example"};
  EXPECT_EQ(settings(development_policy({"/p", "/tmp", {}, {}}, options)->policy),
            R"({"network":{"allowedDomains":["a.example","*.b.example"],"deniedDomains":[]},)"
            R"("filesystem":{"denyRead":[],"allowWrite":["/p","/tmp"],)"
            R"("denyWrite":[]}})");
  SafeClawPolicy local;
  local.network.reach = SafeClawNetwork::Reach::Localhost;
  // R-280: a rule for writing alone is one for reading and writing, in both layers.
  local.allow = {{"/w", SafeClawAccess::Write}, {"/x", SafeClawAccess::Execute}};
  EXPECT_EQ(settings(local), R"({"network":{"allowedDomains":["localhost"],"deniedDomains":[]},)"
                             R"("filesystem":{"denyRead":[],"allowWrite":["/w"],"denyWrite":[]}})");
  SafeClawPolicy denied;
  denied.deny = {{"/d", SafeClawAccess::Read}};
  denied.network.reach = SafeClawNetwork::Reach::Domains;
  denied.network.denied = {{"c.example"}};
  EXPECT_EQ(settings(denied, {"/s"}),
            R"({"network":{"allowedDomains":[],"deniedDomains":["c.example"]},)"
            R"("filesystem":{"denyRead":["/s","/d"],"allowWrite":[],"denyWrite":["/d"]}})");
}

}  // namespace
}  // namespace cordon
