#include <gmock/gmock.h>

#include "host/test_tree.h"
#include "host/writable.h"

namespace cordon {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::paths_of;
using testing::TestTree;
using testing::writable;

TEST(Resolve, GrantsACanonicalDirectoryWithItsIdentity) {
  const TestTree tree;
  const Caller caller = tree.caller();
  tree.directory("real");
  tree.link("home/alias", "../real");
  const auto resolved = resolve(writable({"~/alias"}), caller);
  ASSERT_TRUE(resolved);
  ASSERT_EQ(resolved->write.size(), 1U);
  const Grant& grant = resolved->write[0];
  EXPECT_EQ(grant.written, "~/alias");
  EXPECT_EQ(grant.lexical, tree.at("home/alias"));
  EXPECT_EQ(grant.path, tree.at("real"));
  EXPECT_EQ(grant.kind, FileKind::Directory);
  EXPECT_NE(grant.id, FileId{});
}

TEST(Resolve, KeepsWhoAskedForAGrantAndForWhatIsNotThere) {
  const TestTree tree;
  tree.directory("real");
  Policy policy;
  policy.fs.read = {{tree.at("real"), {}, Origin::Option}, {tree.at("gone"), {}, Origin::Option}};
  policy.fs.write = {{tree.at("real"), {}}, {tree.at("lost"), {}}};
  const auto resolved = resolve(policy, tree.caller());
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->read.at(0).origin, Origin::Option);
  EXPECT_EQ(resolved->write.at(0).origin, Origin::Document);
  ASSERT_EQ(resolved->reductions.size(), 2U);
  EXPECT_EQ(resolved->reductions[0].origin, Origin::Option);
  EXPECT_EQ(resolved->reductions[1].origin, Origin::Document);
}

TEST(Resolve, RefusesAWritableRootHomeOrAncestorOfHome) {
  const TestTree tree;
  const Caller caller = tree.caller();
  for (const std::string& path :
       {std::string("/"), std::string("~"), caller.home, tree.root(), std::string("/proc/sys"),
        std::string("/sys"), std::string("/dev")}) {
    const auto resolved = resolve(writable({path}), caller);
    ASSERT_FALSE(resolved) << path;
    EXPECT_EQ(resolved.error().kind, ErrorKind::Policy);
    EXPECT_FALSE(resolved.error().hint.empty());
  }
  EXPECT_TRUE(resolve(writable({"~/project"}), caller));
}

TEST(Resolve, RefusesAWritableHomeReachedByALink) {
  const TestTree tree;
  const Caller caller = tree.caller();
  tree.link("innocent", "home");
  EXPECT_FALSE(resolve(writable({tree.at("innocent")}), caller));
}

// FS10: a home is not touched by a neighbour that shares its first letters.
TEST(Resolve, ComparesWholeComponents) {
  const TestTree tree;
  const Caller caller = tree.caller();
  tree.directory("home-evil");
  tree.directory("hom");
  const auto resolved = resolve(writable({tree.at("home-evil"), tree.at("hom")}), caller);
  ASSERT_TRUE(resolved);
  EXPECT_THAT(paths_of(resolved->write), ElementsAre(tree.at("home-evil"), tree.at("hom")));
}

TEST(Resolve, RefusesToMakeAHomeTheWorkspace) {
  const TestTree tree;
  Caller caller = tree.caller();
  ASSERT_TRUE(resolve(writable({"@cwd"}), caller));
  for (const std::string& cwd :
       {std::string("/"), caller.home, tree.root(), std::string("/usr"), std::string("/usr/bin"),
        std::string("/etc"), std::string("/var"), std::string("/home"), std::string("/opt")}) {
    caller.cwd = cwd;
    const auto resolved = resolve(writable({"@cwd"}), caller);
    ASSERT_FALSE(resolved) << cwd;
    EXPECT_EQ(resolved.error().kind, ErrorKind::Policy);
    EXPECT_THAT(resolved.error().hint, HasSubstr("--policy readonly"));
    EXPECT_THAT(resolved.error().hint, HasSubstr("--write"));
    EXPECT_THAT(resolved.error().hint, HasSubstr("project"));
  }
}

TEST(Resolve, DropsSuchAWorkspaceIfAnotherWritablePathIsNamed) {
  const TestTree tree;
  Caller caller = tree.caller();
  caller.cwd = caller.home;
  const auto resolved = resolve(writable({"@cwd", "~/project"}), caller);
  ASSERT_TRUE(resolved);
  EXPECT_THAT(paths_of(resolved->write), ElementsAre(tree.at("home/project")));
  ASSERT_EQ(resolved->reductions.size(), 1U);
  EXPECT_EQ(resolved->reductions[0].because, Reduction::Because::Forbidden);
}

TEST(Resolve, LetsAHomeBeReadAsTheWorkspace) {
  const TestTree tree;
  Caller caller = tree.caller();
  caller.cwd = caller.home;
  Policy policy;
  policy.fs.read = {{"@cwd", {}}};
  EXPECT_TRUE(resolve(policy, caller));
}

TEST(IsSystemDirectory, KnowsSystemTreesFromPlacesForProjects) {
  for (const char* path :
       {"/", "/usr", "/usr/lib/x", "/etc/x", "/bin", "/lib64", "/boot", "/dev/shm", "/run/user/1",
        "/var", "/var/lib/x", "/opt", "/home", "/nix/store/x"})
    EXPECT_TRUE(is_system_directory(path)) << path;
  for (const char* path : {"/tmp", "/tmp/x", "/var/tmp/x", "/srv", "/srv/x", "/opt/x", "/var/www/x",
                           "/usr/src/app", "/home/u/p", "/usrx", "/work"})
    EXPECT_FALSE(is_system_directory(path)) << path;
}

TEST(IsNoProject, LetsServiceAccountsWorkBelowTheirHome) {
  Caller caller;
  caller.homes = {"/var/lib/ci"};
  EXPECT_FALSE(is_no_project("/var/lib/ci/work", caller));
  EXPECT_TRUE(is_no_project("/var/lib/ci", caller));
  EXPECT_TRUE(is_no_project("/var/lib", caller));
  EXPECT_TRUE(is_no_project("/var/lib/other", caller));
}

TEST(Resolve, ReportsWhatDoesNotExist) {
  const TestTree tree;
  const auto resolved = resolve(writable({"@cwd", "~/gone"}), tree.caller());
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->write.size(), 1U);
  const Reduction expected{"write", "~/gone", std::nullopt, Reduction::Because::Nonexistent};
  EXPECT_THAT(resolved->reductions, ElementsAre(expected));
}

TEST(Resolve, RefusesGroupsAsWritable) {
  const TestTree tree;
  EXPECT_FALSE(resolve(writable({"@system"}), tree.caller()));
  EXPECT_FALSE(resolve(writable({"@toolchains"}), tree.caller()));
}

TEST(Resolve, RefusesAGrantInsideCordonsOwnDirectories) {
  const TestTree tree;
  const Caller caller = tree.caller();
  tree.directory("home/.local/state/cordon/handoff");
  EXPECT_FALSE(resolve(writable({"~/.local/state/cordon/handoff"}), caller));
  EXPECT_TRUE(resolve(writable({"~/project"}), caller));
}

TEST(Resolve, RefusesTheHostsProcessList) {
  const TestTree tree;
  Policy policy;
  policy.fs.read = {{"/proc", {}}};
  EXPECT_FALSE(resolve(policy, tree.caller()));
}

TEST(ResolveDeny, WithoutASlashMatchesEverywhere) {
  const TestTree tree;
  Policy policy = writable({"@cwd"});
  policy.fs.deny = {{".env", {}}, {"*.pem", {}}, {"**/*.key", "/anywhere"}};
  const auto resolved = resolve(policy, tree.caller());
  ASSERT_TRUE(resolved);
  EXPECT_THAT(resolved->deny,
              ElementsAre(DenyGlob{".env", "", ".env"}, DenyGlob{"*.pem", "", "*.pem"},
                          DenyGlob{"**/*.key", "", "*.key"}));
}

TEST(ResolveDeny, WithASlashIsAnchoredAtACanonicalDirectory) {
  const TestTree tree;
  const Caller caller = tree.caller();
  tree.directory("home/project/secrets");
  Policy policy = writable({"@cwd"});
  policy.fs.deny = {{"secrets/*.txt", caller.cwd},
                    {"./secrets", caller.cwd},
                    {"~/x/**/y", {}},
                    {"sub/missing", caller.cwd}};
  const auto resolved = resolve(policy, caller);
  ASSERT_TRUE(resolved);
  EXPECT_THAT(resolved->deny,
              ElementsAre(DenyGlob{"secrets/*.txt", caller.cwd + "/secrets", "*.txt"},
                          DenyGlob{"./secrets", caller.cwd + "/secrets", ""},
                          DenyGlob{"~/x/**/y", caller.home + "/x", "**/y"},
                          DenyGlob{"sub/missing", caller.cwd + "/sub/missing", ""}));
}

// FS05: a leading "**/" stands for the whole path, not the directory it was written in.
TEST(ResolveDeny, AppliesALeadingDoubleStarToEveryGrant) {
  const TestTree tree;
  const Caller caller = tree.caller();
  const std::string other = tree.directory("other");
  Policy policy = writable({"@cwd", other});
  policy.fs.deny = {{"**/keys/id", "/elsewhere"}};
  const auto resolved = resolve(policy, caller);
  ASSERT_TRUE(resolved);
  EXPECT_THAT(resolved->deny, ElementsAre(DenyGlob{"**/keys/id", "/", "**/keys/id"}));
}

TEST(ResolveDeny, RefusesAPatternThatCanNeverMatch) {
  const TestTree tree;
  Policy policy = writable({"@cwd"});
  policy.fs.deny = {{"key[0-9", {}}};
  EXPECT_FALSE(resolve(policy, tree.caller()));
  policy.fs.deny = {{"key[0-9]", {}}};
  EXPECT_TRUE(resolve(policy, tree.caller()));
}

TEST(ResolveCeiling, MayBoundWritesByAHomeButNotByTheRoot) {
  const TestTree tree;
  const Caller caller = tree.caller();
  Ceiling ceiling;
  ceiling.id = "ceiling.toml";
  ceiling.policy.fs.write = {{"~", {}}};
  ceiling.policy.fs.read = {{"/", {}}};
  const auto bounded = resolve(ceiling, caller);
  ASSERT_TRUE(bounded);
  EXPECT_THAT(paths_of(bounded->write), ElementsAre(caller.home));
  EXPECT_THAT(paths_of(bounded->read), ElementsAre("/"));
  ceiling.policy.fs.write = {{"/", {}}};
  const auto unbounded = resolve(ceiling, caller);
  ASSERT_FALSE(unbounded);
  ASSERT_TRUE(unbounded.error().place);
  EXPECT_EQ(unbounded.error().place->file, "ceiling.toml");
}

TEST(ResolveWorktree, GrantsTheGitDirectoryThatNamesThisWorktree) {
  const TestTree tree;
  Caller caller = tree.caller();
  const std::string main = tree.directory("home/main");
  testing::git(main, "init -q");
  testing::git(main, "commit -q --allow-empty -m x");
  testing::git(main, "worktree add -q ../linked");
  caller.cwd = tree.at("home/linked");
  const auto resolved = resolve(writable({"@cwd"}), caller);
  ASSERT_TRUE(resolved);
  EXPECT_THAT(paths_of(resolved->write),
              ElementsAre(caller.cwd, main + "/.git/worktrees/linked", main + "/.git"));
  EXPECT_EQ(resolved->write[1].source, Grant::Source::GitDirectory);
  EXPECT_THAT(resolved->reductions, IsEmpty());
}

TEST(ResolveWorktree, GrantsNothingToAPlantedPointer) {
  const TestTree tree;
  const Caller caller = tree.caller();
  const std::string victim = tree.directory("home/victim");
  testing::git(victim, "init -q");
  testing::git(victim, "commit -q --allow-empty -m x");
  testing::git(victim, "worktree add -q ../linked");
  for (const std::string& target :
       {victim + "/.git", victim + "/.git/worktrees/linked", std::string("../victim/.git")}) {
    tree.file("home/project/.git", "gitdir: " + target + "\n");
    const auto resolved = resolve(writable({"@cwd"}), caller);
    ASSERT_TRUE(resolved);
    EXPECT_THAT(paths_of(resolved->write), ElementsAre(caller.cwd)) << target;
    ASSERT_EQ(resolved->reductions.size(), 1U);
    EXPECT_EQ(resolved->reductions[0].because, Reduction::Because::Forbidden);
    EXPECT_EQ(resolved->reductions[0].asked, target);
  }
}

// A gitdir that names us back, but whose common directory is somebody else's.
TEST(ResolveWorktree, GrantsNoCommonDirectoryItDoesNotLieIn) {
  const TestTree tree;
  const Caller caller = tree.caller();
  testing::git(tree.directory("home/victim"), "init -q");
  tree.file("home/project/.git", "gitdir: ../forged/worktrees/w\n");
  tree.file("home/forged/worktrees/w/gitdir", caller.cwd + "/.git\n");
  tree.file("home/forged/worktrees/w/HEAD", "ref: refs/heads/main\n");
  tree.file("home/forged/worktrees/w/commondir", tree.at("home/victim/.git") + "\n");
  const auto resolved = resolve(writable({"@cwd"}), caller);
  ASSERT_TRUE(resolved);
  EXPECT_THAT(paths_of(resolved->write), ElementsAre(caller.cwd));
}

TEST(ResolveWorktree, FollowsASubmoduleWhoseConfigurationNamesIt) {
  const TestTree tree;
  Caller caller = tree.caller();
  const std::string library = tree.directory("library");
  testing::git(library, "init -q");
  testing::git(library, "commit -q --allow-empty -m x");
  const std::string super = tree.directory("home/super");
  testing::git(super, "init -q");
  testing::git(super, "submodule --quiet add " + library + " sub");
  caller.cwd = super + "/sub";
  const auto resolved = resolve(writable({"@cwd"}), caller);
  ASSERT_TRUE(resolved);
  EXPECT_THAT(paths_of(resolved->write), ElementsAre(caller.cwd, super + "/.git/modules/sub"));
}

}  // namespace
}  // namespace cordon
