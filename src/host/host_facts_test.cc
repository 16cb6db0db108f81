#include <gmock/gmock.h>

#include <algorithm>

#include "base/path.h"
#include "host/cgroup.h"
#include "host/git/config.h"
#include "host/test_tree.h"

namespace cordon {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::paths_of;
using testing::TestTree;

TEST(SystemEntries, HoldTheLoadersBaseline) {
  const std::vector<SystemEntry> entries = system_entries(SystemEntry::Tier::Programs);
  EXPECT_THAT(paths_of(entries), Contains("/usr"));
  EXPECT_THAT(paths_of(entries), Contains("/bin"));
  EXPECT_THAT(paths_of(entries), Contains("/etc/ld.so.cache"));
  EXPECT_TRUE(std::is_sorted(entries.begin(), entries.end()));
}

TEST(SystemEntries, AreWhatTheHostHas) {
  for (const SystemEntry& entry : system_entries(SystemEntry::Tier::Programs)) {
    struct stat status {};
    ASSERT_EQ(::lstat(entry.path.c_str(), &status), 0) << entry.path;
    EXPECT_EQ(S_ISLNK(status.st_mode), entry.kind == SystemEntry::Kind::Symlink) << entry.path;
    EXPECT_EQ(S_ISDIR(status.st_mode), entry.kind == SystemEntry::Kind::Directory) << entry.path;
    EXPECT_EQ(entry.target.empty(), entry.kind != SystemEntry::Kind::Symlink) << entry.path;
  }
}

TEST(SystemEntries, ShowNoSecretsOfTheMachine) {
  for (const SystemEntry& entry : system_entries(SystemEntry::Tier::Programs))
    for (const char* secret :
         {"/etc/shadow", "/etc/gshadow", "/etc/ssh", "/etc/ssl/private", "/etc/machine-id",
          "/etc/sudoers", "/etc/pip.conf", "/etc/npmrc", "/etc/environment", "/etc/cron.d",
          "/etc/NetworkManager", "/etc/passwd", "/etc/hosts", "/etc/resolv.conf"})
      EXPECT_FALSE(contains(entry.path, secret)) << entry.path << " shows " << secret;
}

TEST(CgroupFacts, NamesOnlyDirectoriesInWhichAGroupCanBeMade) {
  const CgroupFacts facts = cgroup_facts();
  EXPECT_EQ(facts.version == CgroupFacts::Version::None, facts.parents.empty());
  for (const auto& [controller, directory] : facts.parents) {
    const std::string child = directory + "/cordon-test-" + std::to_string(::getpid());
    EXPECT_EQ(::mkdir(child.c_str(), 0755), 0) << directory;
    EXPECT_EQ(::rmdir(child.c_str()), 0);
  }
}

TEST(CgroupFacts, GivesAnOrdinaryUserNothingThatRootOwns) {
  if (::geteuid() != 0) {
    for (const auto& [controller, directory] : cgroup_facts().parents)
      EXPECT_EQ(::access(directory.c_str(), W_OK), 0);
    return;
  }
  const testing::OrdinaryUser ordinary;
  for (const auto& [controller, directory] : cgroup_facts().parents) {
    struct stat status {};
    ASSERT_EQ(::stat(directory.c_str(), &status), 0);
    EXPECT_NE(status.st_uid, 0U) << directory;
  }
}

// One group of a hierarchy of v2, as files. Those that a writer needs can be taken away.
void group(const TestTree& tree, const std::string& path, const std::string& has,
           const std::string& hands_on) {
  tree.file(path + "/cgroup.procs", "");
  tree.file(path + "/cgroup.controllers", has + "\n");
  tree.file(path + "/cgroup.subtree_control", hands_on + "\n");
}

TEST(UnifiedGroups, NameTheNearestGroupThatHandsControllersOn) {
  const TestTree tree;
  group(tree, "", "cpu io memory pids", "cpu io memory pids");
  group(tree, "user", "cpu io memory pids", "memory pids");
  group(tree, "user/app", "memory pids", "");
  const UnifiedGroups found = unified_groups(tree.root(), "/user/app");
  EXPECT_EQ(found.facts.version, CgroupFacts::Version::V2);
  const std::map<std::string, std::string> expected = {{"memory", tree.at("user")},
                                                       {"pids", tree.at("user")}};
  EXPECT_EQ(found.facts.parents, expected);
  EXPECT_FALSE(found.idle);
  // Of the top itself, processor time too.
  EXPECT_EQ(unified_groups(tree.root(), "/").facts.parents.size(), 3U);
}

TEST(UnifiedGroups, TakeNoneWhoseProcessesTheCallerMayNotMove) {
  const TestTree tree;
  group(tree, "", "memory pids", "");
  group(tree, "user", "memory pids", "memory pids");
  group(tree, "user/app", "memory pids", "");
  ASSERT_EQ(unified_groups(tree.root(), "/user/app").facts.parents.size(), 2U);
  ASSERT_EQ(::unlink(tree.at("user/cgroup.procs").c_str()), 0);
  EXPECT_EQ(unified_groups(tree.root(), "/user/app").facts.version, CgroupFacts::Version::None);
}

TEST(UnifiedGroups, SayWhichGroupCouldHandControllersOn) {
  const TestTree tree;
  group(tree, "", "cpu memory pids", "");
  group(tree, "scope", "cpu memory pids", "");
  const UnifiedGroups found = unified_groups(tree.root(), "/scope");
  EXPECT_EQ(found.facts, CgroupFacts{});
  ASSERT_TRUE(found.idle);
  EXPECT_EQ(found.idle->path, tree.at("scope"));
  EXPECT_EQ(found.idle->controllers, (std::vector<std::string>{"cpu", "memory", "pids"}));
  // One that has no controller for processes is of no use.
  group(tree, "scope", "memory", "memory");
  const UnifiedGroups other = unified_groups(tree.root(), "/scope");
  ASSERT_TRUE(other.idle);
  EXPECT_EQ(other.idle->path, tree.root());
}

TEST(CopiedGitSettings, KeepsWhatRunsNothing) {
  const TestTree tree;
  const Caller caller = tree.caller();
  tree.file("home/.gitconfig",
            "[user]\n\tname = \"A \\\"B\\\"\"\n\temail = a@b\n\tsigningkey = k\n"
            "[init]\n\tdefaultBranch = trunk\n[core]\n\tpager = evil\n\tautocrlf = input\n"
            "[credential]\n\thelper = x\n[alias]\n\tst = status\n\tx = !evil\n\ty = -c a.b=c log\n"
            "\tz = fetch https://u:p@h/\n[filter \"lfs\"]\n\tclean = git-lfs clean -- %f\n\tsmudge "
            "= evil\n"
            "[filter \"other\"]\n\tclean = cat\n[pull]\n\ttwohead = evil\n\trebase\n"
            "[core \"sub\"]\n\teol = lf\n");
  EXPECT_EQ(copied_git_settings(caller),
            "[alias]\n\tst = \"status\"\n[core]\n\tautocrlf = \"input\"\n"
            "[filter \"lfs\"]\n\tclean = \"git-lfs clean -- %f\"\n"
            "[init]\n\tdefaultbranch = \"trunk\"\n[pull]\n\trebase = \"true\"\n"
            "[user]\n\tname = \"A \\\"B\\\"\"\n\temail = \"a@b\"\n");
}

TEST(CopiedGitSettings, AreOfTheLastValueAlone) {
  const TestTree tree;
  tree.file("home/.gitconfig",
            "[alias]\n\tst = status\n\tst = !evil\n[core]\n\teol = lf\n\teol = crlf\n");
  EXPECT_EQ(copied_git_settings(tree.caller()), "[core]\n\teol = \"crlf\"\n");
}

TEST(CopiedGitSettings, FollowsIncludesAndLinkedDotfiles) {
  const TestTree tree;
  tree.file("home/dotfiles/gitconfig", "[include]\n\tpath = ~/work.inc\n");
  tree.file("home/work.inc", "[user]\n\tname = Worker\n");
  tree.link("home/.gitconfig", "dotfiles/gitconfig");
  EXPECT_THAT(copied_git_settings(tree.caller()), HasSubstr("Worker"));
}

TEST(CredentialStores, AreFoundWithTheirTargets) {
  const TestTree tree;
  const Caller caller = tree.caller();
  tree.file("home/.ssh/id");
  tree.file("home/.netrc");
  tree.file("home/.config/gh/hosts.yml");
  tree.file("home/.cargo/credentials.toml");
  tree.file("elsewhere/aws/key");
  tree.link("home/.aws", "../elsewhere/aws");
  tree.link("home/.kube", "missing");
  tree.file("home/.bash_history");
  tree.file("home/.config/harmless/file");
  EXPECT_THAT(paths_of(credential_stores(caller)),
              ::testing::UnorderedElementsAre(
                  tree.at("elsewhere/aws"), tree.at("home/.aws"), tree.at("home/.bash_history"),
                  tree.at("home/.cargo/credentials.toml"), tree.at("home/.config/gh"),
                  tree.at("home/.kube"), tree.at("home/.netrc"), tree.at("home/.ssh")));
}

TEST(CredentialStores, AreFoundBehindALinkedConfigurationDirectory) {
  const TestTree tree;
  const Caller caller = tree.caller();
  tree.file("dotfiles/config/gh/hosts.yml");
  tree.link("home/.config", "../dotfiles/config");
  EXPECT_THAT(paths_of(credential_stores(caller)), Contains(tree.at("dotfiles/config/gh")));
}

TEST(CredentialStores, AreFoundUnderEveryHome) {
  const TestTree tree;
  Caller caller = tree.caller();
  caller.homes.push_back(tree.directory("account"));
  tree.file("account/.ssh/id");
  tree.file("home/.aws/key");
  EXPECT_THAT(paths_of(credential_stores(caller)),
              ElementsAre(tree.at("account/.ssh"), tree.at("home/.aws")));
}

TEST(CredentialStores, AreNoneInAnEmptyHome) {
  const TestTree tree;
  EXPECT_THAT(credential_stores(tree.caller()), IsEmpty());
}

}  // namespace
}  // namespace cordon
