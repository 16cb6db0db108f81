#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "host/git/inspection.h"
#include "host/git/program_files.h"
#include "host/post_run_tree.h"

namespace cordon {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::git;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::paths_of;
using testing::TestTree;

using PostRunScanOfGit = testing::PostRunTree;

// git needs no right to list what it knows by name.
TEST_F(PostRunScanOfGit, TakesClosedPartsOfARepository) {
  git(caller_.cwd, "init -q");
  ASSERT_EQ(::chmod(tree_.root().c_str(), 0755), 0);
  for (const std::string& path : {caller_.home, caller_.cwd, in(".git")})
    ASSERT_EQ(::chmod(path.c_str(), 0777), 0);
  start();
  const testing::OrdinaryUser ordinary;
  file(".git/worktrees/w/HEAD", "ref: refs/heads/main\n");
  file(".git/worktrees/w/commondir", "../../../evil\n");
  file(".git/worktrees/w/gitdir", in("w/.git") + "\n");
  file("w/.git", "gitdir: " + in(".git/worktrees/w") + "\n");
  file(".git/rebase-merge/git-rebase-todo", "exec evil\n");
  ASSERT_EQ(::chmod(in(".git/rebase-merge").c_str(), 0100), 0);
  ASSERT_EQ(::chmod(in(".git/worktrees/w").c_str(), 0100), 0);
  ASSERT_EQ(::chmod(in(".git/worktrees").c_str(), 0100), 0);
  EXPECT_THAT(paths_of(end()), ElementsAre(".git/rebase-merge", ".git/worktrees/w", "w/.git"));
  ASSERT_EQ(::chmod(in(".git/worktrees").c_str(), 0755), 0);
}

// TH01 and the rest of what git runs unasked, in a repository that was there.
TEST_F(PostRunScanOfGit, TakesWhatAppearedInAnExistingRepository) {
  git(caller_.cwd, "init -q");
  std::filesystem::remove_all(in(".git/hooks"));
  start();
  file(".git/hooks/pre-commit", "#!/bin/sh\n");
  file(".git/hooks/post-checkout.sample");
  file(".git/commondir", "../evil\n");
  file(".git/config.worktree", "[core]\n\tfsmonitor = evil\n");
  file(".git/rebase-merge/git-rebase-todo", "pick 1 x\nexec evil\n");
  file(".git/sequencer/todo", "pick 1 x\n");
  file(".git/info/exclude", "*.o\n");
  EXPECT_THAT(paths_of(end()),
              ElementsAre(".git/commondir", ".git/config.worktree", ".git/hooks/pre-commit",
                          ".git/rebase-merge/git-rebase-todo"));
  EXPECT_TRUE(exists(".git/hooks/post-checkout.sample"));
  EXPECT_TRUE(exists(".git/sequencer/todo"));
  git(caller_.cwd, "status");
}

TEST_F(PostRunScanOfGit, LeavesAnInterruptedRebaseOfTheHostAlone) {
  git(caller_.cwd, "init -q");
  file(".git/rebase-merge/git-rebase-todo", "exec make test\n");
  start();
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(PostRunScanOfGit, LetsANewRepositoryWork) {
  start();
  git(caller_.cwd, "init -q fresh");
  git(in("fresh"), "commit -q --allow-empty -m x");
  git(caller_.cwd, "clone -q fresh copy");
  git(caller_.cwd, "clone -q --bare fresh bare.git");
  const std::string config = tree_.read("home/project/copy/.git/config");
  EXPECT_THAT(end(), IsEmpty());
  EXPECT_EQ(tree_.read("home/project/copy/.git/config"), config);
  git(in("copy"), "fetch");
  git(in("copy"), "log");
}

// TH04 to TH07.
TEST_F(PostRunScanOfGit, CleansTheConfigurationOfANewRepository) {
  start();
  git(caller_.cwd, "init -q fresh");
  git(in("fresh"), "config core.fsmonitor evil");
  git(in("fresh"), "config remote.origin.url https://example.com/x");
  git(in("fresh"), "config filter.f.clean evil");
  file("fresh/.git/hooks/pre-commit", "#!/bin/sh\n");
  ASSERT_EQ(::chmod(in("fresh/.git/config").c_str(), 0640), 0);
  EXPECT_THAT(paths_of(end()), ElementsAre("fresh/.git/config", "fresh/.git/hooks/pre-commit"));
  const std::string config = tree_.read("home/project/fresh/.git/config");
  EXPECT_THAT(config, HasSubstr("https://example.com/x"));
  EXPECT_THAT(config, HasSubstr("repositoryformatversion"));
  EXPECT_THAT(config, Not(HasSubstr("evil")));
  EXPECT_THAT(TestTree::read_path(handoff("fresh%2F.git%2Fconfig")), HasSubstr("fsmonitor"));
  struct stat status {};
  ASSERT_EQ(::stat(in("fresh/.git/config").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
  git(in("fresh"), "status");
}

TEST_F(PostRunScanOfGit, CleansWhatLooksLikeABareRepository) {
  start();
  file("innocent/HEAD", "ref: refs/heads/main\n");
  tree_.directory("home/project/innocent/objects");
  tree_.directory("home/project/innocent/refs");
  file("innocent/config", "[core]\n\tfsmonitor = evil\n");
  file("hidden/HEAD", "ref: refs/heads/main\n");
  file("hidden/commondir", "../evil\n");
  EXPECT_THAT(paths_of(end()), ElementsAre("hidden/commondir", "innocent/config"));
}

TEST_F(PostRunScanOfGit, StillFindsProtectedNamesBesideAFakeRepository) {
  start();
  file("x/HEAD");
  tree_.directory("home/project/x/objects");
  tree_.directory("home/project/x/refs");
  file("x/.vscode/tasks.json");
  EXPECT_THAT(paths_of(end()), ElementsAre("x/.vscode"));
}

TEST_F(PostRunScanOfGit, TakesAPointerToAGitDirectoryItDoesNotKnow) {
  start();
  file("evil/HEAD", "ref: refs/heads/main\n");
  file("sub/.git", "gitdir: ../evil\n");
  file("sub2/.git", "gitdir: /etc\n");
  link("sub3/.git", "../evil");
  EXPECT_THAT(paths_of(end()), ElementsAre("sub/.git", "sub2/.git", "sub3/.git"));
}

TEST_F(PostRunScanOfGit, KeepsNewSubmodulesAndWorktreesThatLeadBack) {
  const std::string library = tree_.directory("library");
  git(library, "init -q");
  git(library, "commit -q --allow-empty -m x");
  git(caller_.cwd, "init -q");
  git(caller_.cwd, "commit -q --allow-empty -m x");
  start();
  git(caller_.cwd, "submodule --quiet add " + library + " sub");
  git(caller_.cwd, "worktree add -q linked");
  // The run sees the configuration through a private copy; undo what this test wrote to the real.
  before_.protected_objects.insert([&] {
    struct stat status {};
    EXPECT_EQ(::stat(in(".git/config").c_str(), &status), 0);
    return FileId{status.st_dev, status.st_ino};
  }());
  EXPECT_THAT(paths_of(end()), ElementsAre(".gitmodules"));
  git(in("sub"), "status");
  git(in("linked"), "status");
}

TEST_F(PostRunScanOfGit, TakesNewWorktreesAndModulesThatLeadElsewhere) {
  git(caller_.cwd, "init -q");
  start();
  file(".git/worktrees/w/HEAD", "ref: refs/heads/main\n");
  file(".git/worktrees/w/commondir", "../../../evil\n");
  file(".git/worktrees/w/gitdir", in("w/.git") + "\n");
  file("w/.git", "gitdir: " + in(".git/worktrees/w") + "\n");
  file(".git/modules/m/HEAD", "ref: refs/heads/main\n");
  tree_.directory("home/project/.git/modules/m/objects");
  tree_.directory("home/project/.git/modules/m/refs");
  file(".git/modules/m/config", "[core]\n\tworktree = ../../../elsewhere\n");
  EXPECT_THAT(paths_of(end()), ElementsAre(".git/modules/m", ".git/worktrees/w", "w/.git"));
}

// TH02.
TEST_F(PostRunScanOfGit, TakesHooksThatAppearWhereTheConfigurationLooksForThem) {
  git(caller_.cwd, "init -q");
  git(caller_.cwd, "config core.hooksPath .hooks");
  git(caller_.cwd, "config include.path ../more.inc");
  start();
  file(".hooks/pre-commit");
  file("more.inc");
  file("less.inc");
  EXPECT_THAT(paths_of(end()), ElementsAre(".hooks", "more.inc"));
  EXPECT_TRUE(exists("less.inc"));
}

TEST_F(PostRunScanOfGit, TakesWhatTheUsersOwnConfigurationNamesWithoutARepository) {
  tree_.file("home/.gitconfig", "[core]\n\thooksPath = ~/project/hk/in/\n[include]\n\tpath = " +
                                    in("more.inc") + "\n");
  file("hk/plain");
  start();
  file("hk/in/pre-commit");
  file("hk/other/pre-commit");
  file("more.inc");
  EXPECT_THAT(paths_of(end()), ElementsAre("hk/in", "more.inc"));
  EXPECT_TRUE(exists("hk/other/pre-commit"));
}

TEST_F(PostRunScanOfGit, TakesALinkUnderTheNameOfTheHooks) {
  git(caller_.cwd, "init -q");
  git(caller_.cwd, "config core.hooksPath .hooks");
  file("scripts/pre-commit");
  start();
  link(".hooks", "scripts");
  EXPECT_THAT(paths_of(end()), Contains(".hooks"));
}

// git writes the message of a commit through a link.
TEST_F(PostRunScanOfGit, TakesLinksThatAppearInAGitDirectory) {
  git(caller_.cwd, "init -q");
  link(".git/old", "/nowhere");
  ::usleep(20'000);  // a tick of the clock that change times come from
  start();
  link(".git/COMMIT_EDITMSG", caller_.home + "/.bashrc");
  file(".git/logs/x");
  link(".git/logs/HEAD", caller_.home + "/.bashrc");
  std::filesystem::remove(in(".git/HEAD"));
  link(".git/HEAD", "refs/heads/main");
  EXPECT_THAT(paths_of(end()), ElementsAre(".git/COMMIT_EDITMSG", ".git/logs/HEAD"));
  EXPECT_TRUE(exists(".git/old"));
  EXPECT_TRUE(exists(".git/HEAD"));
}

TEST_F(PostRunScanOfGit, TakesWhatAnInterruptedRebaseWouldRun) {
  git(caller_.cwd, "init -q");
  start();
  file(".git/rebase-merge/strategy", "planted/x\n");
  file(".git/rebase-merge/strategy_opts", "'--ours'\n");
  file(".git/sequencer/opts", "[options]\n\tstrategy = planted/x\n");
  file(".git/remotes/origin", "URL: ext::x\n");
  file(".git/branches/origin", "ext::x\n");
  EXPECT_THAT(paths_of(end()), ElementsAre(".git/branches/origin", ".git/rebase-merge/strategy",
                                           ".git/remotes/origin", ".git/sequencer/opts"));
  EXPECT_TRUE(exists(".git/rebase-merge/strategy_opts"));
}

// git asks the directory that a linked worktree shares for no HEAD.
TEST_F(PostRunScanOfGit, CleansASharedDirectoryWithoutAHead) {
  start();
  file("x/config", "[core]\n\tfsmonitor = evil\n");
  file("x/hooks/pre-commit");
  file("x/objects/keep");
  file("x/refs/keep");
  file("x/worktrees/w/HEAD", "ref: refs/heads/main\n");
  file("x/worktrees/w/commondir", "../..\n");
  file("x/worktrees/w/gitdir", in("lure/.git") + "\n");
  file("lure/.git", "gitdir: " + in("x/worktrees/w") + "\n");
  EXPECT_THAT(paths_of(end()), ElementsAre("x/config", "x/hooks/pre-commit"));
}

// Named by a configuration above the grant, or by one that a `.git` file leads to.
TEST_F(PostRunScanOfGit, TakesProgramsThatAConfigurationElsewhereNames) {
  git(caller_.home, "init -q");
  git(caller_.home, "config core.fsmonitor ./project/tools/watch");
  git(caller_.home, "config core.editor 'sh project/edit.sh'");
  file("edit.sh");
  start();
  file("tools/watch");
  EXPECT_THAT(paths_of(end()), ElementsAre("tools/watch"));
  EXPECT_TRUE(exists("edit.sh"));
}

TEST_F(PostRunScanOfGit, LeavesAloneWhatLayThereBeforeANewRepository) {
  tree_.file("home/.gitconfig", "[diff \"d\"]\n\ttextconv = ./conv.sh\n\tcommand = ./new.sh\n");
  file("conv.sh");
  ::usleep(20'000);
  start();
  git(caller_.cwd, "init -q");
  file("new.sh");
  EXPECT_THAT(paths_of(end()), ElementsAre("new.sh"));
  EXPECT_TRUE(exists("conv.sh"));
}

TEST(RunsSomething, KnowsExecLinesInEverySpelling) {
  EXPECT_TRUE(runs_something("pick 1 x\nexec evil\n"));
  EXPECT_TRUE(runs_something("  \tx evil"));
  EXPECT_TRUE(runs_something("x\tevil"));
  EXPECT_TRUE(runs_something("!evil"));
  EXPECT_FALSE(runs_something("# exec commented\npick 1 exec x\nfixup 2\n"));
  EXPECT_FALSE(runs_something(""));
}

}  // namespace
}  // namespace cordon
