#include <gmock/gmock.h>

#include "host/test_tree.h"

namespace cordon {
namespace {

using testing::clamped;
using ::testing::Contains;
using ::testing::ElementsAre;
using testing::git;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::paths_of;
using testing::surveyed;
using testing::TestTree;
using ::testing::UnorderedElementsAre;
using testing::writable;

class SurveyTest : public ::testing::Test {
 protected:
  SurveyTest() : caller_(tree_.caller()) {}

  HostFacts facts(const Policy& policy) {
    return surveyed(clamped(policy, caller_), caller_).facts;
  }
  std::string in(std::string_view path) const { return caller_.cwd + "/" + std::string(path); }
  std::string file(std::string_view path, std::string_view content = "x") {
    return tree_.file("home/project/" + std::string(path), content);
  }
  void link(std::string_view path, std::string_view target) {
    tree_.link("home/project/" + std::string(path), target);
  }
  static Policy denying(std::initializer_list<std::string> denies) {
    Policy policy = writable({"@cwd"});
    for (const std::string& deny : denies) policy.fs.deny.push_back({deny, {}});
    return policy;
  }

  TestTree tree_;
  Caller caller_;
};

TEST_F(SurveyTest, FindsNothingToHoldInAnOrdinaryTree) {
  file("src/faces/main.cc");
  file("README.md");
  const HostFacts found = facts(writable({"@cwd"}));
  EXPECT_THAT(found.held, IsEmpty());
  EXPECT_THAT(found.masked, IsEmpty());
  EXPECT_THAT(found.git, IsEmpty());
  EXPECT_GT(found.memory_bytes, 0U);
  EXPECT_GE(found.processors, 1U);
}

// TH10, TH11, TH12.
TEST_F(SurveyTest, HoldsProtectedNamesAtAnyDepth) {
  file(".vscode/settings.json");
  file("a/b/c/.mcp.json");
  file("a/.claude/settings.json");
  file("a/.cursor/mcp.json");
  file("dotfiles/.bashrc");
  file("package.json");
  const HostFacts found = facts(writable({"@cwd"}));
  EXPECT_THAT(paths_of(found.held),
              UnorderedElementsAre(in(".vscode"), in("a/b/c/.mcp.json"), in("a/.claude"),
                                   in("a/.cursor"), in("dotfiles/.bashrc")));
}

TEST_F(SurveyTest, HoldsAProtectedNameEvenIfAGrantNamesIt) {
  file(".vscode/settings.json");
  file(".claude/work/x");
  EXPECT_THAT(paths_of(facts(writable({"@cwd", in(".vscode"), in(".claude/work")})).held),
              UnorderedElementsAre(in(".vscode"), in(".claude")));
}

TEST_F(SurveyTest, HoldsNothingInAReadOnlyTree) {
  file(".vscode/settings.json");
  Policy policy;
  policy.fs.read = {{"@cwd", {}}};
  EXPECT_THAT(facts(policy).held, IsEmpty());
}

// FS36.
TEST_F(SurveyTest, HoldsAProtectedNameBelowAThousandDirectories) {
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "d/";
  file(deep + ".mcp.json");
  EXPECT_THAT(paths_of(facts(writable({"@cwd"})).held), ElementsAre(in(deep + ".mcp.json")));
}

TEST_F(SurveyTest, ReportsEditorFilesInPackagesButHoldsAgentFilesThere) {
  file("node_modules/p/.vscode/tasks.json");
  file("node_modules/p/.claude/settings.json");
  file("vendor/q/.idea/x.xml");
  file("src/.idea/x.xml");
  EXPECT_THAT(paths_of(facts(writable({"@cwd"})).held),
              UnorderedElementsAre(in("node_modules/p/.claude"), in("src/.idea")));
}

TEST_F(SurveyTest, CountsHomeOnlyNamesOnlyInAHome) {
  file(".ssh/config");
  file("bin/tool");
  tree_.file("home/.config/autostart/x.desktop");
  tree_.file("home/.config/other/autostart/x.desktop");
  EXPECT_THAT(paths_of(facts(writable({"@cwd", "~/.config"})).held),
              ElementsAre(tree_.at("home/.config/autostart")));
}

// FS09, FS35: the object is held under its own name; the link is remembered.
TEST_F(SurveyTest, HoldsTheTargetOfAProtectedLink) {
  file("settings/tasks.json");
  link(".vscode", "settings");
  link(".idea", "/usr");
  link(".cursor", "missing");
  const Survey found = surveyed(clamped(writable({"@cwd"}), caller_), caller_);
  EXPECT_THAT(paths_of(found.facts.held), ElementsAre(in("settings")));
  EXPECT_EQ(found.facts.held[0].link, in(".vscode"));
  EXPECT_EQ(found.snapshot.loose_objects.size(), 3U);
  EXPECT_THAT(found.snapshot.led, UnorderedElementsAre(in(".vscode"), in(".cursor")));
}

TEST_F(SurveyTest, HoldsWhatLinksInHeldDirectoriesLeadTo) {
  file(".vscode/own.json");
  file("a/cfg/tasks.json");
  file("more/settings.json");
  file("far/x");
  link(".vscode/tasks.json", "../a/cfg/tasks.json");
  link(".vscode/more", "../more");
  link("more/far", "../far");
  link("more/back", "../.vscode");
  link(".vscode/own-link", "own.json");
  link(".vscode/outside", "/usr/bin");
  const HostFacts found = facts(writable({"@cwd"}));
  EXPECT_THAT(paths_of(found.held),
              UnorderedElementsAre(in(".vscode"), in("a/cfg/tasks.json"), in("far"), in("more")));
  // The way to the end, and nothing that lies in what is held anyway.
  EXPECT_THAT(paths_of(found.pinned), ElementsAre(in("a"), in("a/cfg")));
}

TEST_F(SurveyTest, PinsEveryLinkAndDirectoryBehindTheFirst) {
  file("real/deep/editor/tasks.json");
  link("way", "real");
  link("two", "way/deep/editor");
  link("below/it/.vscode", "../../two");
  const HostFacts found = facts(writable({"@cwd"}));
  EXPECT_THAT(paths_of(found.held), ElementsAre(in("real/deep/editor")));
  EXPECT_THAT(paths_of(found.pinned), ElementsAre(in("below/it/.vscode"), in("real"),
                                                  in("real/deep"), in("two"), in("way")));
  for (const Pinned& pinned : found.pinned) EXPECT_EQ(pinned.shows, HoldKind::Editor);
  EXPECT_TRUE(found.pinned[0].is_protected_link());
  EXPECT_FALSE(found.pinned[1].is_protected_link());
}

TEST_F(SurveyTest, FollowsLinksThatAreTheFirstPartOfAName) {
  file("settings/config.toml");
  file("settings/other.toml");
  link(".cargo", "settings");
  link("ordinary", "settings");
  tree_.link("home/.config/nvim", "../project/nvim");
  file("nvim/init.lua");
  const HostFacts found = facts(writable({"@cwd"}));
  EXPECT_THAT(paths_of(found.held), UnorderedElementsAre(in("nvim"), in("settings/config.toml")));
  EXPECT_THAT(paths_of(found.pinned), ElementsAre(in(".cargo"), in("settings")));
}

TEST_F(SurveyTest, RefusesANameThatLeadsToTheWholeGrant) {
  link(".gemini", ".");
  const auto found = survey(clamped(writable({"@cwd"}), caller_), caller_);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().what, HasSubstr(".gemini"));
  EXPECT_THAT(found.error().what, HasSubstr("leads to what may be written as a whole"));
}

TEST_F(SurveyTest, HoldsDirectoriesOnTheCallersPath) {
  file("tools/bin/make");
  file("other/bin/make");
  link("alias", "tools/bin");
  caller_.environment["PATH"] = "/usr/bin:" + in("alias") + "::.:" + in("missing");
  const HostFacts found = facts(writable({"@cwd"}));
  EXPECT_THAT(paths_of(found.held), ElementsAre(in("tools/bin")));
  EXPECT_EQ(found.held[0].kind, HoldKind::Path);
}

TEST_F(SurveyTest, HoldsCordonsOwnBinary) {
  caller_.executable = file("build/cordon");
  EXPECT_THAT(paths_of(facts(writable({"@cwd"})).held), ElementsAre(in("build/cordon")));
}

TEST_F(SurveyTest, MasksAFifoUnderAProtectedName) {
  ASSERT_EQ(::mkfifo(in(".mcp.json").c_str(), 0600), 0);
  const HostFacts found = facts(writable({"@cwd"}));
  EXPECT_THAT(found.held, IsEmpty());
  EXPECT_THAT(paths_of(found.masked), ElementsAre(in(".mcp.json")));
}

TEST_F(SurveyTest, HoldsTheUsersOwnHooksWithoutARepository) {
  tree_.file("home/.gitconfig", "[core]\n\thooksPath = ~/project/hk/in\n");
  file("hk/in/pre-commit");
  file("hk/other");
  EXPECT_THAT(paths_of(facts(writable({"@cwd"})).held), ElementsAre(in("hk/in")));
  // A relative one says nothing without a repository.
  tree_.file("home/.gitconfig", "[core]\n\thooksPath = hk/in\n");
  EXPECT_THAT(facts(writable({"@cwd"})).held, IsEmpty());
}

TEST_F(SurveyTest, HoldsTheOtherNamesOfAHeldFile) {
  file(".mcp.json");
  file("unrelated");
  ASSERT_EQ(::link(in(".mcp.json").c_str(), in("innocent").c_str()), 0);
  EXPECT_THAT(paths_of(facts(writable({"@cwd"})).held),
              UnorderedElementsAre(in(".mcp.json"), in("innocent")));
}

TEST_F(SurveyTest, HoldsTheOtherNamesOfWhatLiesInHeldDirectories) {
  testing::git(caller_.cwd, "init -q");
  file(".vscode/deep/tasks.json");
  file(".git/hooks/pre-commit");
  file("unrelated");
  const auto also = [&](const char* path, const char* name) {
    ASSERT_EQ(::link(in(path).c_str(), in(name).c_str()), 0);
  };
  also(".vscode/deep/tasks.json", "one");
  also(".vscode/deep/tasks.json", ".vscode/two");
  also(".git/hooks/pre-commit", "three");
  also(".git/hooks/pre-commit", ".git/hooks/post-commit");
  also(".git/config", "four");
  also("unrelated", "five");
  EXPECT_THAT(paths_of(facts(writable({"@cwd"})).held),
              UnorderedElementsAre(in(".vscode"), in("one"), in("three"), in("four")));
}

TEST_F(SurveyTest, MasksTheOtherNamesOfWhatLiesInAStore) {
  tree_.file("home/.ssh/id");
  tree_.file("home/.ssh/known_hosts");
  ASSERT_EQ(::link(tree_.at("home/.ssh/id").c_str(), tree_.at("home/backup").c_str()), 0);
  Policy policy = writable({"@cwd"});
  policy.fs.read.push_back({caller_.home, {}});
  EXPECT_THAT(paths_of(facts(policy).masked),
              UnorderedElementsAre(tree_.at("home/.ssh"), tree_.at("home/backup")));
}

// FS04, FS06.
TEST_F(SurveyTest, MasksWhatADenyNames) {
  file(".env");
  file("a/.env");
  file("a/key.pem");
  file("a/secrets/x");
  file("a/public");
  const HostFacts found = facts(denying({".env", "**/*.pem", "a/secrets"}));
  EXPECT_THAT(paths_of(found.masked),
              UnorderedElementsAre(in(".env"), in("a/.env"), in("a/key.pem"), in("a/secrets")));
  EXPECT_THAT(found.masked[0].reason, HasSubstr("deny"));
}

TEST_F(SurveyTest, MasksInReadGrantsToo) {
  tree_.file("data/x/.env");
  tree_.file("data/y/plain");
  Policy policy = denying({".env"});
  policy.fs.read.push_back({tree_.at("data"), {}});
  EXPECT_THAT(paths_of(facts(policy).masked), ElementsAre(tree_.at("data/x/.env")));
}

TEST_F(SurveyTest, AnchorsADenyWithASlash) {
  file("a/secret");
  file("b/secret");
  file("a/c/secret");
  EXPECT_THAT(paths_of(facts(denying({"a/*cret"})).masked), ElementsAre(in("a/secret")));
  EXPECT_THAT(paths_of(facts(denying({"a/**/secret"})).masked),
              UnorderedElementsAre(in("a/secret"), in("a/c/secret")));
}

TEST_F(SurveyTest, PinsTheDirectoriesThatADenySpellsOut) {
  file("svc/deep/conf/a.key");
  const HostFacts found = facts(denying({"**/conf/*.key"}));
  EXPECT_THAT(paths_of(found.masked), ElementsAre(in("svc/deep/conf/a.key")));
  EXPECT_THAT(paths_of(found.pinned), ElementsAre(in("svc/deep/conf")));
  // Which directories a second "**" stands for cannot be told.
  EXPECT_THAT(paths_of(facts(denying({"**/svc/**/*.key"})).pinned),
              UnorderedElementsAre(in("svc"), in("svc/deep"), in("svc/deep/conf")));
}

TEST_F(SurveyTest, CountsALeadingDoubleStarFromTheTop) {
  file("conf/a.key");
  Policy policy;
  policy.fs.read.push_back({in("conf"), {}});
  policy.fs.deny.push_back({"**/conf/*.key", {}});
  EXPECT_THAT(paths_of(facts(policy).masked), ElementsAre(in("conf/a.key")));
  policy.fs.deny = {{"**/project", {}}};
  EXPECT_THAT(paths_of(facts(policy).masked), ElementsAre(in("conf")));
}

TEST_F(SurveyTest, ClosesWhatIsDeeperThanPathsReach) {
  const std::string name(200, 'd');
  Fd at(::open(caller_.cwd.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0755), 0);
    ASSERT_EQ(::mkdirat(at.get(), ".vscode", 0755), 0);
    at = Fd(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  const HostFacts found = facts(writable({"@cwd"}));
  ASSERT_EQ(found.closed.size(), 1U);
  EXPECT_LT(found.closed[0].path.size(), std::size_t{PATH_MAX});
  for (const Held& held : found.held) EXPECT_LT(held.path.size(), std::size_t{PATH_MAX});
  EXPECT_THAT(facts(denying({"*.pem"})).closed, IsEmpty()) << "it is hidden then";
  EXPECT_EQ(facts(denying({"*.pem"})).masked.size(), 1U);
}

TEST_F(SurveyTest, WritesNothingInsideAGitDirectory) {
  git(caller_.cwd, "init .");
  git(caller_.cwd, "init --bare store");
  const auto is_written = [&](const std::string& path) {
    const Clamped policy = clamped(writable({path}), caller_);
    return survey(policy, caller_).has_value() && !policy.effective().write.empty();
  };
  EXPECT_FALSE(is_written(in(".git/refs")));
  EXPECT_FALSE(is_written(in("store/info")));
  file("store/work/.git", "gitdir: elsewhere");
  EXPECT_TRUE(is_written(in("store/work")));
  EXPECT_TRUE(is_written(in("store")));
}

// FS09.
TEST_F(SurveyTest, MasksTheTargetOfADeniedLink) {
  file("real.txt");
  file("other.txt");
  link("secret", "real.txt");
  EXPECT_THAT(paths_of(facts(denying({"secret"})).masked), ElementsAre(in("real.txt")));
}

// FS15.
TEST_F(SurveyTest, MasksEveryHardLinkOfADeniedFile) {
  file("secret");
  ASSERT_EQ(::link(in("secret").c_str(), in("alias").c_str()), 0);
  file("plain");
  EXPECT_THAT(paths_of(facts(denying({"secret"})).masked),
              UnorderedElementsAre(in("secret"), in("alias")));
}

TEST_F(SurveyTest, MasksAGrantBelowADeniedDirectory) {
  file("x");
  EXPECT_THAT(paths_of(facts(denying({caller_.cwd})).masked), ElementsAre(caller_.cwd));
}

// FS07.
TEST_F(SurveyTest, RefusesMoreMasksThanCanBeMounted) {
  tree_.directory("home/project/many");
  for (int i = 0; i < 4096; ++i) file("many/f" + std::to_string(i) + ".key");
  EXPECT_TRUE(survey(clamped(denying({"*.key"}), caller_), caller_));
  file("one.key");
  const auto refused = survey(clamped(denying({"*.key"}), caller_), caller_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Policy);
  EXPECT_TRUE(survey(clamped(denying({"many", "*.key"}), caller_), caller_));
}

TEST_F(SurveyTest, MasksCredentialsUnderAReadableHome) {
  tree_.file("home/.ssh/id");
  tree_.file("home/.config/gh/hosts.yml");
  tree_.file("home/.config/app/conf");
  Policy policy;
  policy.fs.read = {{"~", {}}};
  EXPECT_THAT(paths_of(facts(policy).masked),
              UnorderedElementsAre(tree_.at("home/.ssh"), tree_.at("home/.config/gh")));
}

// the project holds what a link in the home makes a credential store.
TEST_F(SurveyTest, MasksACredentialStoreThatLiesInTheProject) {
  file("aws/credentials");
  tree_.link("home/.aws", "project/aws");
  tree_.link("home/.kube", "nowhere");
  EXPECT_THAT(paths_of(facts(writable({"@cwd"})).masked), ElementsAre(in("aws")));
}

TEST_F(SurveyTest, MasksNoCredentialsOutsideOfTheGrants) {
  tree_.file("home/.ssh/id");
  EXPECT_THAT(facts(writable({"@cwd"})).masked, IsEmpty());
}

TEST_F(SurveyTest, MasksCordonsOwnDirectories) {
  tree_.directory("home/.config/cordon/policies");
  tree_.directory("home/.local/state/cordon/audit");
  Policy policy;
  policy.fs.read = {{"~", {}}};
  EXPECT_THAT(paths_of(facts(policy).masked),
              UnorderedElementsAre(caller_.config_directory, caller_.state_directory));
}

TEST_F(SurveyTest, PinsAndHoldsWhatGitWouldRun) {
  testing::git(caller_.cwd, "init -q");
  const HostFacts found = facts(writable({"@cwd"}));
  ASSERT_EQ(found.git.size(), 1U);
  const GitDirectory& git = found.git[0];
  EXPECT_EQ(git.path, in(".git"));
  EXPECT_THAT(paths_of(git.pinned), ElementsAre(in(".git")));
  EXPECT_THAT(paths_of(git.held), ElementsAre(in(".git/hooks")));
  ASSERT_EQ(git.configs.size(), 1U);
  EXPECT_EQ(git.configs[0].path, in(".git/config"));
  EXPECT_EQ(git.configs[0].content, TestTree::read_path(in(".git/config")));
  EXPECT_THAT(found.held, IsEmpty());
}

TEST_F(SurveyTest, PinsSubmodulesAndWorktrees) {
  const std::string library = tree_.directory("library");
  testing::git(library, "init -q");
  testing::git(library, "commit -q --allow-empty -m x");
  testing::git(caller_.cwd, "init -q");
  testing::git(caller_.cwd, "submodule --quiet add " + library + " deep/sub");
  testing::git(caller_.cwd, "commit -q -m x");
  testing::git(caller_.cwd, "worktree add -q linked");
  const HostFacts found = facts(writable({"@cwd"}));
  ASSERT_EQ(found.git.size(), 1U);
  EXPECT_THAT(
      paths_of(found.git[0].pinned),
      ElementsAre(in(".git"), in(".git/modules"), in(".git/modules/deep"),
                  in(".git/modules/deep/sub"), in(".git/worktrees"), in(".git/worktrees/linked")));
  EXPECT_THAT(paths_of(found.git[0].held),
              UnorderedElementsAre(in(".git/hooks"), in(".git/modules/deep/sub/hooks"),
                                   in(".git/worktrees/linked/commondir"),
                                   in(".git/worktrees/linked/gitdir")));
  EXPECT_THAT(paths_of(found.git[0].configs),
              UnorderedElementsAre(in(".git/config"), in(".git/modules/deep/sub/config")));
  EXPECT_THAT(paths_of(found.held), UnorderedElementsAre(in("deep/sub/.git"), in("linked/.git")));
}

TEST_F(SurveyTest, KnowsABareRepositoryByItsContent) {
  testing::git(caller_.cwd, "init -q --bare store");
  const HostFacts found = facts(writable({"@cwd"}));
  ASSERT_EQ(found.git.size(), 1U);
  EXPECT_EQ(found.git[0].path, in("store"));
}

// TH02, TH07.
TEST_F(SurveyTest, HoldsWhatTheConfigurationMakesGitRunFromTheWorkspace) {
  testing::git(caller_.cwd, "init -q");
  file("tools/hooks/pre-commit");
  file("shared.inc");
  file("untouched/pre-commit");
  testing::git(caller_.cwd, "config core.hooksPath tools/hooks");
  testing::git(caller_.cwd, "config include.path ../shared.inc");
  EXPECT_THAT(paths_of(facts(writable({"@cwd"})).held),
              UnorderedElementsAre(in("tools/hooks"), in("shared.inc")));
}

TEST_F(SurveyTest, HoldsTheHooksOfTheUsersOwnConfiguration) {
  testing::git(caller_.cwd, "init -q");
  file(".githooks/pre-commit");
  tree_.file("home/.gitconfig", "[core]\n\thooksPath = .githooks\n");
  EXPECT_THAT(paths_of(facts(writable({"@cwd"})).held), ElementsAre(in(".githooks")));
}

TEST_F(SurveyTest, StartsWithAGitDirectoryFullOfOddities) {
  tree_.directory("home/project/.git/hooks");
  ASSERT_EQ(::mkfifo(in(".git/config").c_str(), 0600), 0);
  link(".git/commondir", "nowhere");
  const HostFacts found = facts(writable({"@cwd"}));
  ASSERT_EQ(found.git.size(), 1U);
  EXPECT_THAT(found.git[0].configs, IsEmpty());
  EXPECT_THAT(paths_of(found.git[0].held),
              UnorderedElementsAre(in(".git/hooks"), in(".git/config")));
}

}  // namespace
}  // namespace cordon
