#include "compat/seatbelt/profile.h"

#include <gtest/gtest.h>

#include "compat/dialect/test_access.h"
#include "support/choices.h"
#include "support/property.h"
#include "support/sbpl_evaluator.h"

namespace cordon::seatbelt {
namespace {

using testing::any_choices;
using testing::check_cases;
using testing::Choices;
using testing::in_this_build;
using testing::PolicyAccess;
using testing::SbplProfile;

Caller made_up_caller() {
  Caller caller;
  caller.home = "/Users/alex";
  caller.homes = {"/Users/alex"};
  return caller;
}

Policy made_up_policy() {
  Policy policy;
  policy.fs.read = {{"/opt/tool", {}}, {"/Users/alex/p/held", {}}};
  policy.fs.write = {{"/Users/alex/p", {}}, {"/tmp/x", {}}};
  policy.fs.deny = {{"/Users/alex/p/.env", {}}, {"/Users/alex/p/**/*.pem", {}}};
  return policy;
}

Result<Profile> profile_of(const Policy& policy, Style style = Style::DenyDefault) {
  return make_profile(PolicyAccess(policy).clamped(), {}, made_up_caller(), {}, style);
}

TEST(Seatbelt, DenyDefaultHoldsFilesAndNetwork) {
  const auto profile = profile_of(made_up_policy());
  ASSERT_TRUE(profile) << profile.error().what;
  const SbplProfile sbpl(profile->text);
  const auto writes = [&](const char* path) { return sbpl.allows("file-write*", path); };
  const auto reads = [&](const char* path) { return sbpl.allows("file-read*", path); };
  EXPECT_TRUE(writes("/Users/alex/p/src/a.cc"));
  EXPECT_TRUE(reads("/opt/tool/bin/x"));
  EXPECT_FALSE(writes("/opt/tool/bin/x"));
  EXPECT_FALSE(reads("/Users/alex/.ssh/id"));
  EXPECT_FALSE(reads("/Users/alex/pq"));
  EXPECT_TRUE(reads("/Users/alex/p/held/x"));
  EXPECT_FALSE(writes("/Users/alex/p/held/x"));
  EXPECT_FALSE(reads("/Users/alex/p/.env"));
  EXPECT_FALSE(reads("/Users/alex/p/a/b/k.pem"));
  EXPECT_FALSE(reads("/Users/alex/p/k.pem"));
  EXPECT_TRUE(reads("/Users/alex/p/k.pem2"));
  EXPECT_FALSE(writes("/Users/alex/p/.git/hooks/pre-commit"));
  EXPECT_FALSE(writes("/Users/alex/p/sub/.vscode/tasks.json"));
  EXPECT_FALSE(writes("/Users/alex/p/.GIT/Hooks/pre-commit"));
  EXPECT_FALSE(reads("/Users/alex/p/K.PEM"));
  EXPECT_TRUE(writes("/private/tmp/x/file"));
  EXPECT_FALSE(writes("/tmp/x/file"));
  EXPECT_TRUE(writes("/dev/null"));
  EXPECT_FALSE(writes("/dev/disk0"));
  EXPECT_FALSE(sbpl.allows("network-outbound"));
  Policy open = made_up_policy();
  open.net.mode = share_the_hosts_network();
  EXPECT_TRUE(SbplProfile(profile_of(open)->text).allows("network-outbound"));
}

constexpr std::string_view kDenyDefault =
#include "golden/profile_deny_default.inc"
    ;
constexpr std::string_view kAllowDefault =
#include "golden/profile_allow_default.inc"
    ;

// Order is meaning here, so the whole text is compared.
TEST(Seatbelt, TextOfBothStyles) {
  EXPECT_EQ(profile_of(made_up_policy())->text, kDenyDefault);
  Policy agent = made_up_policy();
  agent.fs.read = {{"/", {}}};
  agent.net.mode = share_the_hosts_network();
  EXPECT_EQ(profile_of(agent, Style::AllowDefault)->text, kAllowDefault);
}

TEST(Seatbelt, RefusesListsOfHosts) {
  Policy policy = made_up_policy();
  policy.net.mode = NetMode::Allow;
  EXPECT_EQ(profile_of(policy).error().kind, ErrorKind::Unsupported);
  policy.net = {share_the_hosts_network(), {}, {HostRule{}}};
  EXPECT_EQ(profile_of(policy).error().kind, ErrorKind::Unsupported);
}

TEST(Seatbelt, AllowDefaultHoldsWriting) {
  Policy policy = made_up_policy();
  EXPECT_EQ(profile_of(policy, Style::AllowDefault).error().kind, ErrorKind::Unsupported);
  policy.fs.read = {{"/", {}}};
  policy.net.mode = share_the_hosts_network();
  const auto profile = profile_of(policy, Style::AllowDefault);
  ASSERT_TRUE(profile) << profile.error().what;
  const SbplProfile sbpl(profile->text);
  EXPECT_TRUE(sbpl.allows("file-write*", "/Users/alex/p/a"));
  EXPECT_FALSE(sbpl.allows("file-write*", "/Users/alex/a"));
  EXPECT_FALSE(sbpl.allows("file-write*", "/Users/alex/p/.env"));
  EXPECT_TRUE(sbpl.allows("file-read*", "/anything"));
  EXPECT_FALSE(sbpl.allows("file-read*", "/Users/alex/Library/Keychains/login.keychain-db"));
  EXPECT_LT(profile->text.find("(deny file-write* (subpath \"/\"))"),
            profile->text.find("(allow file-read* file-write* (subpath \"/Users/alex/p\"))"));
}

TEST(Seatbelt, TokenStandsExactlyOnce) {
  EXPECT_EQ(*fill_token("a%%T%%b", "%%T%%", "x"), "axb");
  EXPECT_FALSE(fill_token("ab", "%%T%%", "x"));
  EXPECT_FALSE(fill_token("%%T%%%%T%%", "%%T%%", "x"));
}

TEST(Seatbelt, NoPathCanEndItsString) {
  for (const char* evil :
       {"/w\")) (allow default) (deny x (literal \"", "/w\\\")) (allow default)", "/w\\",
        "/w(allow default)", "/w;comment", "/w#\"", "/w%%WRITABLE_PATHS%%", "/w\xC3\xA9"}) {
    Policy policy;
    policy.fs.write = {{evil, {}}};
    const auto profile = profile_of(policy);
    ASSERT_TRUE(profile) << evil;
    const SbplProfile sbpl(profile->text);
    EXPECT_FALSE(sbpl.allows("file-write*", "/elsewhere")) << evil;
    EXPECT_TRUE(sbpl.allows("file-write*", std::string(evil) + "/x")) << evil;
    Policy denied;
    denied.fs.write = {{"/d", {}}};
    denied.fs.deny = {{"/d" + std::string(evil) + "*", {}}};
    const auto pattern = profile_of(denied);
    ASSERT_TRUE(pattern) << evil;
    EXPECT_FALSE(SbplProfile(pattern->text).allows("file-write*", "/d" + std::string(evil) + "q"));
    EXPECT_TRUE(SbplProfile(pattern->text).allows("file-write*", "/d/other"));
  }
  EXPECT_FALSE(quoted("/a\nb"));
  EXPECT_FALSE(quoted(std::string_view("/a\0b", 4)));
  Policy agent;
  agent.fs.read = {{"/", {}}};
  agent.fs.write = {{"/w%%WRITABLE_PATHS%%", {}}};
  agent.net.mode = share_the_hosts_network();
  EXPECT_TRUE(profile_of(agent, Style::AllowDefault));
}

TEST(Seatbelt, NothingReachesTheKeychainOrAllDevices) {
  Policy broad;
  broad.fs.read = {{"/", {}}};
  broad.fs.write = {{"/Users/alex/p", {}}};
  broad.net.mode = share_the_hosts_network();
  for (const Style style : {Style::DenyDefault, Style::AllowDefault}) {
    const auto profile = profile_of(broad, style);
    ASSERT_TRUE(profile);
    for (const char* word : {"mach-lookup", "SecurityServer", "securityd", "(subpath \"/dev\")"}) {
      EXPECT_EQ(profile->text.find(word), std::string::npos) << word;
    }
    const SbplProfile sbpl(profile->text);
    EXPECT_FALSE(sbpl.allows("file-read*", "/Library/Keychains/System.keychain"));
  }
}

TEST(Seatbelt, WarnsOfGrantsTheSystemRefuses) {
  Policy policy;
  policy.fs.write = {{"/usr/lib/x", {}}, {"/usr/local/x", {}}};
  EXPECT_EQ(profile_of(policy)->warnings.size(), 1U);
}

// The verdict of a profile is that of `decide` for the same policy.
TEST(Seatbelt, AgreesWithDecide) {
  int granted = 0;
  check_cases(600, [&] {
    Choices choices = any_choices();
    const std::vector<std::string> paths{"/a", "/b", "/a/a", "/a/b", "/b/a", "/a/b/a", "/tmp/a"};
    Policy policy;
    const auto fill = [&](std::vector<PathRule>& rules, std::size_t most) {
      for (std::size_t count = choices.below(most + 1); count > 0; --count) {
        rules.push_back({choices.of(paths), {}});
      }
    };
    fill(policy.fs.read, 3);
    fill(policy.fs.write, 3);
    fill(policy.fs.deny, 2);
    if (choices.one_in(3)) policy.fs.deny.push_back({"/a/*", {}});
    if (choices.one_in(4)) policy.fs.deny.push_back({"/a/**/c", {}});
    const PolicyAccess access(policy);
    const auto profile =
        make_profile(access.clamped(), {}, made_up_caller(), {}, Style::DenyDefault);
    RC_ASSERT(profile.has_value());
    const SbplProfile sbpl(profile->text);
    for (const char* text : {"/a",
                             "/b",
                             "/c",
                             "/a/a",
                             "/a/b",
                             "/a/c",
                             "/b/a",
                             "/b/c",
                             "/a/a/c",
                             "/a/b/a",
                             "/a/b/a/c",
                             "/a/b/c/d",
                             "/tmp/a",
                             "/tmp/a/b",
                             "/tmp/b",
                             "/a/.git/hooks/x",
                             "/b/.bashrc",
                             "/b/.BASHRC",
                             "/a/.Git/Hooks/x",
                             "/ab"}) {
      const std::string path(text);
      const std::string seen = real_path(path);
      const bool reads = access.may(Access::Read, path);
      const bool writes = access.may(Access::Write, path);
      RC_ASSERT(!sbpl.allows("file-read*", seen) || reads);
      RC_ASSERT(!sbpl.allows("file-write*", seen) || writes);
      // A grant inside a denied path stands in a policy and not here, where denies come last.
      bool inside_deny = false;
      for (const PathRule& deny : policy.fs.deny) {
        inside_deny = inside_deny || contains(deny.text, path) || deny.text.starts_with("/a/*");
      }
      // Names are held in every spelling here, since most volumes do not tell them apart.
      const bool spelled_oddly = path == "/b/.BASHRC" || path == "/a/.Git/Hooks/x";
      if (inside_deny || spelled_oddly) continue;
      RC_ASSERT(sbpl.allows("file-read*", seen) == reads);
      RC_ASSERT(sbpl.allows("file-write*", seen) == writes);
      granted += writes ? 1 : 0;
    }
  });
  EXPECT_GT(granted, in_this_build(100));
}

}  // namespace
}  // namespace cordon::seatbelt
