#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "config/node.h"
#include "faces/cli/help_text.h"
#include "faces/doctor/doctor_check.h"
#include "faces/doctor/doctor_view.h"

namespace cordon {
namespace {

using testing::HasSubstr;
using testing::Not;

// A host on which everything is there.
HostAccount good_host() {
  HostAccount account;
  account.system = "Linux";
  account.machine = "aarch64";
  account.release = "6.12.0";
  account.distribution = "debian";
  account.uid = 1000;
  for (const char* name :
       {"user-namespace", "mount-namespace", "pid-namespace", "net-namespace", "fresh-proc",
        "symlink-mount", "no-new-privileges", "landlock", "seccomp", "seccomp-listener"}) {
    account.probes.push_back({name, true, "done", 0});
  }
  for (const char* name : {"kill-process", "errno", "allow", "user-notif"}) {
    account.seccomp_actions.push_back({name, true});
  }
  account.landlock_abi = 7;
  account.cgroup.version = CgroupFacts::Version::V2;
  account.cgroup.parents = {{"memory", "/sys/fs/cgroup"}, {"pids", "/sys/fs/cgroup"}};
  account.tools = {{"git", "/usr/bin/git", "2.39"}, {"bwrap", "/usr/bin/bwrap", "0.8"}};
  account.state_directory = "/home/u/.local/state/cordon";
  return account;
}

Check find(const std::vector<Check>& checks, std::string_view name) {
  for (const Check& check : checks) {
    if (check.name == name) return check;
  }
  ADD_FAILURE() << "no check is called " << name;
  return {};
}

Check judged(const HostAccount& account, std::string_view name) {
  return find(judge_account(account), name);
}

HostAccount refusing(std::string_view name, int error) {
  HostAccount account = good_host();
  for (native::Probe& probe : account.probes) {
    if (probe.name == name) probe = {probe.name, false, "refused", error};
  }
  return account;
}

TEST(Doctor, PassesAGoodHost) {
  for (const Check& check : judge_account(good_host())) {
    EXPECT_EQ(check.status, CheckStatus::Pass) << check.name << ": " << check.message;
    EXPECT_EQ(check.cure, "") << check.name;
  }
}

TEST(Doctor, EveryTroubleHasACure) {
  HostAccount account = good_host();
  for (native::Probe& probe : account.probes) probe = {probe.name, false, "refused", EPERM};
  for (native::SeccompAction& action : account.seccomp_actions) action.available = false;
  account.system = "Plan9";
  account.machine = "mips";
  account.cgroup = {};
  account.landlock_abi = 0;
  account.tools = {{"git", "", ""}, {"bwrap", "", ""}};
  account.ceiling_error = policy_error("unknown key");
  account.state_error = setup_error("not a directory", 0);
  account.gate_error = setup_error("cannot find cordon-gate", 0);
  account.agents.push_back({"claude", fail(policy_error("no such host"))});
  account.shared_logins.push_back({"p.toml", "it copies a login", "take it out"});
  for (const Check& check : judge_account(account)) {
    if (check.name == "kernel") continue;
    EXPECT_NE(check.status, CheckStatus::Pass) << check.name;
    EXPECT_NE(check.cure, "") << check.name;
  }
}

TEST(Doctor, PassesAKeyThatStaysOutsideAndNoOther) {
  using Where = KeyPlace::Where;
  HostAccount account = good_host();
  account.agents.push_back({"claude", KeyPlace{Where::Outside, "it is added outside", {}}});
  account.agents.push_back({"codex", KeyPlace{Where::None, "there is none", "export KEY"}});
  account.agents.push_back({"copilot", KeyPlace{Where::Inside, "it goes inside", "limit it"}});
  EXPECT_EQ(judged(account, "key-of-claude").status, CheckStatus::Pass);
  EXPECT_EQ(judged(account, "key-of-codex").status, CheckStatus::Warn);
  EXPECT_EQ(judged(account, "key-of-codex").cure, "export KEY");
  EXPECT_EQ(judged(account, "key-of-copilot").status, CheckStatus::Warn);
  EXPECT_EQ(judged(account, "key-of-copilot").message, "it goes inside");
}

TEST(Doctor, FailsOnAForeignPlatformAndArchitecture) {
  HostAccount account = good_host();
  account.system = "Plan9";
  EXPECT_EQ(judged(account, "platform").status, CheckStatus::Fail);
  account.machine = "mips";
  EXPECT_EQ(judged(account, "architecture").status, CheckStatus::Fail);
  account.machine = "x86_64";
  EXPECT_EQ(judged(account, "architecture").status, CheckStatus::Pass);
  EXPECT_EQ(judged(account, "architecture").message.find("unproven") == std::string::npos,
            architecture_is_proven("x86_64"));
}

TEST(Doctor, NeverFailsForAnOptionalTool) {
  HostAccount account = good_host();
  account.tools = {{"git", "", ""}, {"bwrap", "", ""}};
  EXPECT_EQ(judged(account, "bwrap").status, CheckStatus::Warn);
  EXPECT_EQ(judged(account, "bwrap").cure, "sudo apt install bubblewrap");
  account.distribution = "fedora";
  EXPECT_EQ(judged(account, "git").cure, "sudo dnf install git");
}

TEST(Doctor, SaysWhyAnInstalledBubblewrapIsNoUse) {
  HostAccount account = good_host();
  EXPECT_EQ(judged(account, "bwrap").status, CheckStatus::Pass);
  account.bwrap_error = {.kind = ErrorKind::Unavailable, .what = "too old", .hint = "a newer one"};
  EXPECT_EQ(judged(account, "bwrap").status, CheckStatus::Warn);
  EXPECT_THAT(judged(account, "bwrap").message, HasSubstr("too old"));
  EXPECT_EQ(judged(account, "bwrap").cure, "a newer one");
}

TEST(Doctor, NamesTheSettingOfUbuntu) {
  HostAccount account = refusing("mount-namespace", EACCES);
  account.sysctls["kernel.apparmor_restrict_unprivileged_userns"] = 1;
  EXPECT_EQ(judged(account, "mount-namespace").status, CheckStatus::Fail);
  EXPECT_THAT(judged(account, "mount-namespace").cure,
              HasSubstr("kernel.apparmor_restrict_unprivileged_userns=0"));
}

TEST(Doctor, NamesTheSettingOfDebian) {
  HostAccount account = refusing("user-namespace", EPERM);
  account.sysctls["kernel.unprivileged_userns_clone"] = 0;
  EXPECT_THAT(judged(account, "user-namespace").cure,
              HasSubstr("kernel.unprivileged_userns_clone=1"));
}

TEST(Doctor, NamesTheNumberOfNamespaces) {
  HostAccount account = refusing("user-namespace", ENOSPC);
  account.sysctls["user.max_user_namespaces"] = 0;
  EXPECT_THAT(judged(account, "user-namespace").cure, HasSubstr("user.max_user_namespaces"));
}

TEST(Doctor, TellsAContainersSeccompFromItsMaskedProc) {
  HostAccount account = refusing("fresh-proc", EPERM);
  account.in_container = true;
  EXPECT_THAT(judged(account, "fresh-proc").cure, HasSubstr("systempaths=unconfined"));
  account = refusing("user-namespace", EPERM);
  account.in_container = true;
  EXPECT_THAT(judged(account, "user-namespace").cure, HasSubstr("seccomp=unconfined"));
}

TEST(Doctor, NamesTheCauseThatTheErrnoTells) {
  // ENOSPC is a limit, whatever else is set; root is not bound by Debian's and Ubuntu's settings.
  HostAccount account = refusing("net-namespace", ENOSPC);
  account.sysctls["kernel.apparmor_restrict_unprivileged_userns"] = 1;
  EXPECT_THAT(judged(account, "net-namespace").cure, HasSubstr("user.max_net_namespaces=15000"));
  account = refusing("user-namespace", EPERM);
  account.sysctls["kernel.unprivileged_userns_clone"] = 0;
  account.uid = 0;
  account.in_chroot = true;
  EXPECT_THAT(judged(account, "user-namespace").cure, HasSubstr("inside a chroot"));
  account = refusing("user-namespace", ENOSYS);
  account.filtered = account.in_container = true;
  EXPECT_THAT(judged(account, "user-namespace").cure, HasSubstr("seccomp=unconfined"));
}

TEST(Doctor, SaysThatItIsInsideASandbox) {
  HostAccount account = refusing("user-namespace", ENOSYS);
  account.filtered = true;
  EXPECT_THAT(judged(account, "user-namespace").cure, HasSubstr("outside"));
}

TEST(Doctor, OnlyWarnsWhereNothingRequiredIsMissing) {
  EXPECT_EQ(judged(refusing("symlink-mount", EINVAL), "symlink-mount").status, CheckStatus::Warn);
  EXPECT_EQ(judged(refusing("landlock", ENOSYS), "landlock").status, CheckStatus::Fail);
  EXPECT_EQ(judged(refusing("seccomp", EINVAL), "seccomp").status, CheckStatus::Fail);
}

TEST(Doctor, WithoutACgroupWarns) {
  HostAccount account = good_host();
  account.cgroup = {};
  EXPECT_EQ(judged(account, "cgroup").status, CheckStatus::Warn);
  EXPECT_THAT(judged(account, "cgroup").cure, HasSubstr("Delegate=yes"));
  account.uid = 0;
  EXPECT_EQ(judged(account, "cgroup").status, CheckStatus::Warn);
  EXPECT_THAT(judged(account, "cgroup").message, HasSubstr("watched"));
}

TEST(Doctor, SaysHowAGroupOfOnesOwnIsPutToUse) {
  HostAccount account = good_host();
  account.cgroup = {};
  account.idle_group = IdleGroup{"/sys/fs/cgroup/mine", {"memory", "pids"}};
  EXPECT_THAT(judged(account, "cgroup").cure,
              HasSubstr("echo '+memory +pids' > /sys/fs/cgroup/mine/cgroup.subtree_control"));
}

TEST(Doctor, WarnsOfAVersionOneCgroupWithoutPids) {
  HostAccount account = good_host();
  account.cgroup.version = CgroupFacts::Version::V1;
  account.cgroup.parents = {{"memory", "/sys/fs/cgroup/memory"}};
  EXPECT_EQ(judged(account, "cgroup").status, CheckStatus::Warn);
  account.cgroup.parents["pids"] = "/sys/fs/cgroup/pids";
  EXPECT_EQ(judged(account, "cgroup").status, CheckStatus::Pass);
}

TEST(Doctor, FailsWithoutARequiredSeccompAction) {
  HostAccount account = good_host();
  account.seccomp_actions = {{"kill-process", false}, {"errno", true}, {"allow", true}};
  EXPECT_EQ(judged(account, "seccomp-actions").status, CheckStatus::Fail);
  account.seccomp_actions = {
      {"kill-process", true}, {"errno", true}, {"allow", true}, {"user-notif", false}};
  EXPECT_EQ(judged(account, "seccomp-actions").status, CheckStatus::Warn);
}

TEST(Doctor, TellsTheGapsOfAnOlderLandlock) {
  HostAccount account = good_host();
  account.landlock_abi = 4;
  EXPECT_EQ(judged(account, "residual-gaps").status, CheckStatus::Warn);
  EXPECT_THAT(judged(account, "residual-gaps").message,
              HasSubstr(std::string(sentence_of(Loss::LandlockScopes))));
  EXPECT_THAT(judged(good_host(), "residual-gaps").message, Not(HasSubstr("signals")));
}

TEST(Doctor, ListsTheErrataThatAreFixed) {
  HostAccount account = good_host();
  account.landlock_errata = 0b101;
  EXPECT_EQ(judged(account, "landlock").message, "ABI 7, errata fixed: 1 3");
}

TEST(Doctor, FailsOnAnInvalidCeilingAndPassesWithoutOne) {
  HostAccount account = good_host();
  EXPECT_EQ(judged(account, "ceiling").status, CheckStatus::Pass);
  account.ceiling_error = policy_error("unknown key \"wrote\" in [fs]");
  account.ceiling_error->place = Place{"/etc/cordon/ceiling.toml", 3, 1};
  EXPECT_EQ(judged(account, "ceiling").status, CheckStatus::Fail);
  EXPECT_THAT(judged(account, "ceiling").message, HasSubstr("/etc/cordon/ceiling.toml:3:1"));
}

TEST(DoctorText, CountsAndCategoriesAreInOrder) {
  HostAccount account = refusing("landlock", ENOSYS);
  account.tools[1] = {"bwrap", "", ""};
  const std::string text = doctor_text(judge_account(account));
  EXPECT_THAT(text, testing::StartsWith("Cordon doctor\n\nsystem\n  [PASS] platform: Linux"));
  EXPECT_LT(text.find("\nsystem\n"), text.find("\nsecurity\n"));
  EXPECT_LT(text.find("\nsecurity\n"), text.find("\nconfig\n"));
  EXPECT_THAT(text, HasSubstr("  [FAIL] landlock: refused\n         use a kernel with"));
  EXPECT_THAT(text, testing::EndsWith("\nSummary: 19 passed, 2 warning(s), 1 failed\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(DoctorText, ShowsNoControlCharacterOfAHost) {
  HostAccount account = good_host();
  account.pretty_name = "evil\x1b]52;c;x\x07";
  EXPECT_THAT(doctor_text(judge_account(account)), Not(HasSubstr("\x1b")));
}

TEST(Doctor, NamesTheTierForHostsThatRefuseNamespaces) {
  EXPECT_THAT(judged(good_host(), "backend-landlock").message, HasSubstr("holds less"));
  HostAccount account = good_host();
  account.probes[0].ok = false;
  const Check tier = judged(account, "backend-landlock");
  EXPECT_EQ(tier.status, CheckStatus::Pass);
  EXPECT_THAT(tier.message, HasSubstr("accept_missing"));
  account.landlock_abi = 5;
  EXPECT_EQ(judged(account, "backend-landlock").status, CheckStatus::Warn);
}

TEST(DoctorHints, HoldOnlyCures) {
  EXPECT_EQ(doctor_hints(judge_account(good_host())), "");
  HostAccount account = good_host();
  account.tools[0].path.clear();
  EXPECT_EQ(doctor_hints(judge_account(account)), "git: sudo apt install git\n");
}

TEST(DoctorJson, HasTheShapeOfKernelCapabilities) {
  Capabilities capabilities;
  capabilities.backend = BackendKind::Native;
  capabilities.fs_read = true;
  const HostAccount account = good_host();
  const auto node = read_json(doctor_json(account, judge_account(account), capabilities), "doctor");
  ASSERT_TRUE(node);
  const Node* kernel = node->find("kernel");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(std::get<bool>(kernel->find("landlock")->find("supported")->value), true);
  EXPECT_EQ(std::get<std::int64_t>(kernel->find("landlock")->find("abiVersion")->value), 7);
  EXPECT_EQ(std::get<bool>(kernel->find("seccomp")->find("supported")->value), true);
  for (const char* name : {"user", "pid", "net", "mnt"}) {
    EXPECT_EQ(std::get<bool>(kernel->find("namespaces")->find(name)->value), true) << name;
  }
  EXPECT_EQ(*kernel->find("bwrap")->find("path")->text(), "/usr/bin/bwrap");
  EXPECT_EQ(std::get<bool>(node->find("capabilities")->find("fs_read")->value), true);
  EXPECT_EQ(std::get<bool>(node->find("capabilities")->find("sessions")->value), false);
}

}  // namespace
}  // namespace cordon
