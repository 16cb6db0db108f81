#include "policy/decide.h"

#include <gtest/gtest.h>

#include "policy/net_rules.h"
#include "support/grant.h"

namespace cordon {
namespace {

using testing::grant;

// A workspace at /home/u/p with a read-only part, under a private home.
class Decide : public ::testing::Test {
 protected:
  Decide() {
    caller_.home = "/home/u";
    caller_.homes = {"/home/u"};
    request_.write = {grant("/home/u/p")};
    request_.read = {grant("/home/u/p/third_party"), grant("/opt/sdk")};
    request_.policy.fs.home = HomeMode::Private;
    request_.policy.fs.scratch = 1ULL << 30U;
    facts_.system = {{"/usr", SystemEntry::Kind::Directory, ""},
                     {"/bin", SystemEntry::Kind::Symlink, "usr/bin"},
                     {"/etc/ld.so.cache", SystemEntry::Kind::File, ""}};
  }

  Verdict ask(Access access, std::string_view path) {
    return decide(*clamp(request_, {}), facts_, caller_, access, path);
  }
  void expect_allowed(Access access, std::string_view path, std::string_view rule) {
    const Verdict verdict = ask(access, path);
    EXPECT_TRUE(verdict.allowed) << path << ": " << verdict.rule;
    EXPECT_EQ(verdict.rule, rule);
    EXPECT_FALSE(verdict.reason.empty());
    EXPECT_EQ(verdict.change, "");
  }
  void expect_refused(Access access, std::string_view path, std::string_view rule) {
    const Verdict verdict = ask(access, path);
    EXPECT_FALSE(verdict.allowed) << path << ": " << verdict.rule;
    EXPECT_EQ(verdict.rule, rule);
    EXPECT_FALSE(verdict.reason.empty());
  }

  Resolved request_;
  HostFacts facts_;
  Caller caller_;
};

TEST_F(Decide, TheClosestGrantDecides) {
  expect_allowed(Access::Write, "/home/u/p/src/new.c", "write \"/home/u/p\"");
  expect_allowed(Access::Read, "/home/u/p/src", "write \"/home/u/p\"");
  expect_allowed(Access::Execute, "/home/u/p/a.out", "write \"/home/u/p\"");
  expect_allowed(Access::Read, "/home/u/p/third_party/x", "read \"/home/u/p/third_party\"");
  expect_refused(Access::Write, "/home/u/p/third_party/x", "read \"/home/u/p/third_party\"");
  EXPECT_EQ(ask(Access::Write, "/opt/sdk/x").change, "--write /opt/sdk/x");
  // The option alone would contradict the rule, and be refused.
  EXPECT_EQ(ask(Access::Write, "/opt/sdk").change,
            "--write /opt/sdk, under a policy without read \"/opt/sdk\"");
}

TEST_F(Decide, TheSystemIsReadableAndNeverWritable) {
  expect_allowed(Access::Execute, "/usr/bin/gcc", "system \"/usr\"");
  expect_allowed(Access::Read, "/etc/ld.so.cache", "system \"/etc/ld.so.cache\"");
  expect_refused(Access::Write, "/usr/bin/gcc", "system \"/usr\"");
  expect_refused(Access::Read, "/etc/fstab", "no rule");
}

TEST_F(Decide, ASecretOfTheMachineIsMaskedWhateverIsGranted) {
  expect_refused(Access::Read, "/etc/shadow", "mask \"/etc/shadow\"");
  const Verdict below = ask(Access::Write, "/etc/ssh/ssh_host_rsa_key");
  EXPECT_EQ(below.rule, "mask \"/etc/ssh\"");
  EXPECT_EQ(below.kind, HintRule::Hidden);
  EXPECT_EQ(below.change, "");
  expect_refused(Access::Read, "/etc/shadow.txt", "no rule");
}

TEST_F(Decide, AGrantInsideTheSystemIsCloserThanTheSystem) {
  request_.write.push_back(grant("/usr/local"));
  expect_allowed(Access::Write, "/usr/local/x", "write \"/usr/local\"");
  expect_refused(Access::Write, "/usr/x", "system \"/usr\"");
}

TEST_F(Decide, WhatNothingGrantsDoesNotExist) {
  const Verdict verdict = ask(Access::Read, "/srv/data");
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.rule, "no rule");
  EXPECT_EQ(verdict.change, "--read /srv/data");
}

TEST_F(Decide, AMaskWinsOverAGrant) {
  request_.read.push_back(grant("/home/u"));
  facts_.masked = {{"/home/u/.aws", FileKind::Directory, {}, "a credential store"}};
  expect_refused(Access::Read, "/home/u/.aws/credentials", "mask \"/home/u/.aws\"");
  expect_allowed(Access::Read, "/home/u/notes", "read \"/home/u\"");
}

TEST_F(Decide, ADenyWinsOverAGrantEvenForWhatIsNotThereYet) {
  request_.deny = {{".env", "", ".env"}, {"secrets", "/home/u/p/secrets", ""}};
  expect_refused(Access::Read, "/home/u/p/a/.env", "deny \".env\"");
  expect_refused(Access::Write, "/home/u/p/secrets/new", "deny \"secrets\"");
  expect_allowed(Access::Read, "/home/u/p/a/env", "write \"/home/u/p\"");
}

TEST_F(Decide, HeldFilesCanBeReadAndNotWritten) {
  facts_.held = {{"/home/u/p/.vscode", HoldKind::Editor, FileKind::Directory, {}}};
  expect_refused(Access::Write, "/home/u/p/.vscode/tasks.json", "hold \"/home/u/p/.vscode\"");
  expect_allowed(Access::Read, "/home/u/p/.vscode/tasks.json", "write \"/home/u/p\"");
}

TEST_F(Decide, ProtectedNamesAreRefusedBeforeTheyExist) {
  expect_refused(Access::Write, "/home/u/p/sub/.mcp.json", "protected \".mcp.json\"");
  expect_refused(Access::Write, "/home/u/p/.vscode/tasks.json", "protected \".vscode\"");
  expect_allowed(Access::Write, "/home/u/p/Makefile", "write \"/home/u/p\"");
  expect_allowed(Access::Write, "/home/u/p/bin/tool", "write \"/home/u/p\"");
  expect_allowed(Access::Write, "/home/u/p/.git/config", "protected \".git/config\"");
  expect_refused(Access::Write, "/home/u/p/.git/hooks/pre-commit", "protected \".git/hooks\"");
}

TEST_F(Decide, EditorFilesInsidePackagesAreOnlyReported) {
  expect_allowed(Access::Write, "/home/u/p/node_modules/x/.vscode/a", "write \"/home/u/p\"");
  expect_refused(Access::Write, "/home/u/p/node_modules/x/.claude/a", "protected \".claude\"");
}

TEST_F(Decide, NamesThatMatterOnlyInAHomeAreRefusedThere) {
  request_.write = {grant("/home")};
  expect_refused(Access::Write, "/home/u/.ssh/config", "protected \".ssh\"");
  expect_refused(Access::Write, "/home/u/.local/bin/ls", "protected \".local/bin\"");
  expect_allowed(Access::Write, "/home/u/x/.ssh/config", "write \"/home\"");
}

TEST_F(Decide, GitKeepsItsHooksAndGivesConfigAPrivateCopy) {
  GitDirectory git;
  git.path = "/home/u/p/.git";
  git.held = {{"/home/u/p/.git/hooks", HoldKind::Git, FileKind::Directory, {}}};
  git.configs = {{"/home/u/p/.git/config", {}, ""}};
  facts_.git = {git};
  expect_refused(Access::Write, "/home/u/p/.git/hooks/pre-push", "hold \"/home/u/p/.git/hooks\"");
  expect_allowed(Access::Write, "/home/u/p/.git/config", "git \"/home/u/p/.git/config\"");
  expect_allowed(Access::Write, "/home/u/p/.git/index", "write \"/home/u/p\"");
}

TEST_F(Decide, PrivatePlacesTakeWritesAndHideTheHostsFiles) {
  expect_allowed(Access::Write, "/tmp/x", "scratch = \"1G\"");
  expect_refused(Access::Read, "/tmp/of-the-host", "scratch = \"1G\"");
  expect_allowed(Access::Write, "/home/u/.cache/x", "home = \"private\"");
  expect_refused(Access::Read, "/home/u/notes", "home = \"private\"");
  request_.policy.fs.home = HomeMode::None;
  request_.policy.fs.scratch = std::nullopt;
  expect_refused(Access::Write, "/tmp/x", "no rule");
  expect_refused(Access::Write, "/home/u/.cache/x", "no rule");
}

TEST_F(Decide, EverySandboxHasAFewDevicesAndItsOwnProc) {
  expect_allowed(Access::Write, "/dev/null", "/dev");
  expect_refused(Access::Write, "/dev/sda", "no rule");
  expect_allowed(Access::Read, "/proc/self/status", "/proc");
  expect_refused(Access::Write, "/proc/sys/kernel/core_pattern", "/proc");
}

TEST_F(Decide, WhatIsWrittenForASandboxCanBeReadInIt) {
  expect_allowed(Access::Read, "/etc/passwd", "system \"/etc/passwd\"");
  expect_refused(Access::Write, "/etc/passwd", "system \"/etc/passwd\"");
  expect_refused(Access::Execute, "/etc/passwd", "system \"/etc/passwd\"");
  expect_allowed(Access::Read, "/etc/resolv.conf", "system \"/etc/resolv.conf\"");
  EXPECT_NE(ask(Access::Read, "/etc/hosts").reason.find("written"), std::string::npos);
  request_.policy.net.mode = share_the_hosts_network();
  EXPECT_NE(ask(Access::Read, "/etc/hosts").reason.find("host's own"), std::string::npos);
}

TEST_F(Decide, ProcShowsNeitherTheMachineNorOtherProcesses) {
  expect_refused(Access::Read, "/proc/kcore", "/proc");
  expect_refused(Access::Read, "/proc/bus/pci", "/proc");
  expect_refused(Access::Read, "/proc/1/environ", "/proc");
  expect_refused(Access::Execute, "/proc/self/exe", "/proc");
  expect_allowed(Access::Read, "/proc/self/mem", "/proc");
  expect_allowed(Access::Read, "/proc/cpuinfo", "/proc");
}

TEST_F(Decide, DirectoriesOnTheWayExistAndAreReadOnly) {
  for (const char* path : {"/", "/home", "/etc", "/dev", "/opt", "/var"}) {
    expect_allowed(Access::Read, path, "directory \"" + std::string(path) + "\"");
    expect_refused(Access::Write, path, "directory \"" + std::string(path) + "\"");
  }
  expect_allowed(Access::Write, "/run", "scratch = \"1G\"");
  expect_refused(Access::Read, "/run/user", "scratch = \"1G\"");
  expect_refused(Access::Read, "/sys", "no rule");
}

TEST_F(Decide, AGrantOfTheWholeDiskLeavesTheSandboxItsOwn) {
  request_.read.push_back(grant("/"));
  expect_allowed(Access::Read, "/srv/data", "read \"/\"");
  expect_refused(Access::Read, "/run/user", "scratch = \"1G\"");
  expect_refused(Access::Read, "/etc/fstab", "no rule");
  expect_refused(Access::Read, "/sys/kernel", "no rule");
  expect_refused(Access::Read, "/proc/kcore", "/proc");
  expect_refused(Access::Read, "/tmp/of-the-host", "scratch = \"1G\"");
}

TEST_F(Decide, KnowsWhatIsOfTheSandboxUnlessAGrantShowsTheHosts) {
  const auto own = [&](std::string_view path) {
    return is_of_sandbox(*clamp(request_, {}), facts_, path);
  };
  EXPECT_TRUE(own("/proc/self/mem"));
  EXPECT_TRUE(own("/dev/stdin"));
  EXPECT_TRUE(own("/etc/resolv.conf"));
  EXPECT_FALSE(own("/etc/ld.so.cache"));
  EXPECT_FALSE(own("/home/u/p"));
  request_.read.push_back(grant("/etc"));
  EXPECT_FALSE(own("/etc/resolv.conf"));
}

NetRules allowing(std::initializer_list<const char*> allow,
                  std::initializer_list<const char*> deny = {}) {
  NetRules net;
  net.mode = NetMode::Allow;
  for (const char* text : allow) net.allow.push_back(parse_host_rule(text).value());
  for (const char* text : deny) net.deny.push_back(parse_host_rule(text).value());
  return net;
}

Verdict judge(const NetRules& net, std::string_view host, std::uint16_t port) {
  return decide_connect(net, host, port, {});
}

TEST(DecideConnect, WithoutNetworkNothingIsReached) {
  const Verdict verdict = judge(NetRules{}, "example.com", 443);
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.rule, "net.mode = \"none\"");
  EXPECT_EQ(verdict.change, "--allow example.com:443");
}

TEST(DecideConnect, TheRuleThatCoversHostAndPortDecides) {
  const NetRules net = allowing({"*.github.com:443", "10.1.0.0/16:5432"});
  const Verdict verdict = judge(net, "API.github.com", 443);
  EXPECT_TRUE(verdict.allowed);
  EXPECT_EQ(verdict.rule, "net.allow \"*.github.com:443\"");
  EXPECT_TRUE(judge(net, "10.1.2.3", 5432).allowed);
  EXPECT_FALSE(judge(net, "10.2.2.3", 5432).allowed);
  EXPECT_EQ(judge(net, "api.github.com", 80).reason, "the host is allowed, but not this port");
}

TEST(DecideConnect, ADenyWinsOverAnAllow) {
  const NetRules net = allowing({"*.github.com"}, {"gist.github.com:443"});
  const Verdict verdict = judge(net, "gist.github.com", 443);
  EXPECT_FALSE(verdict.allowed);
  EXPECT_EQ(verdict.rule, "net.deny \"gist.github.com:443\"");
  EXPECT_TRUE(judge(net, "gist.github.com", 80).allowed);
}

TEST(DecideConnect, OpenModeStillDenies) {
  NetRules net = allowing({}, {"10.0.0.0/8"});
  net.mode = share_the_hosts_network();
  EXPECT_TRUE(judge(net, "example.com", 443).allowed);
  EXPECT_FALSE(judge(net, "10.9.9.9", 443).allowed);
  EXPECT_FALSE(judge(net, "::ffff:10.9.9.9", 443).allowed);
}

TEST(DecideConnect, ExplainsWhyANameRuleDoesNotAdmitAnAddress) {
  const Verdict verdict = judge(allowing({"example.com"}), "93.184.216.34", 443);
  EXPECT_FALSE(verdict.allowed);
  EXPECT_NE(verdict.reason.find("admits the name, not its addresses"), std::string::npos);
}

TEST(DecideConnect, LoopbackIsTheSandboxsOwnUnlessThePortIsNamed) {
  const NetRules net = allowing({"127.0.0.1:8080", "[::1]:8080"});
  EXPECT_TRUE(judge(net, "127.0.0.1", 8080).allowed);
  EXPECT_TRUE(judge(net, "::1", 8080).allowed);
  for (const char* host : {"127.0.0.1", "::1", "localhost", "127.0.0.53"}) {
    const Verdict verdict = judge(net, host, 22);
    EXPECT_FALSE(verdict.allowed);
    EXPECT_NE(verdict.reason.find("sandbox's own"), std::string::npos) << host;
  }
}

TEST(DecideConnect, RefusesWhatIsNotOneHost) {
  const NetRules net = allowing({"*.github.com", "0.0.0.0/0"});
  for (const char* host :
       {"", "*.github.com", "0x7f.1", "10.0.0.0/8", "a.github.com:443", "fe80::1%lo", "a b"}) {
    EXPECT_EQ(judge(net, host, 443).rule, "malformed host") << host;
  }
  EXPECT_FALSE(judge(net, "a.github.com", 0).allowed);
}

}  // namespace
}  // namespace cordon
