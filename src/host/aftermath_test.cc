#include "host/aftermath.h"

#include <gmock/gmock.h>

#include <array>

#include "host/git_inspection.h"
#include "host/snapshot.h"
#include "host/test_tree.h"
#include "host/tree_copy.h"

namespace cordon {
namespace {

using testing::clamped;
using testing::collected;
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

class Aftermath : public ::testing::Test {
 protected:
  Aftermath() : caller_(tree_.caller()) {}

  void start(const Policy& policy = writable({"@cwd"})) {
    clamped_.emplace(clamped(policy, caller_));
    before_ = surveyed(*clamped_, caller_).snapshot;
  }
  std::vector<Handoff> end() { return collected(*clamped_, caller_, before_); }

  std::string in(std::string_view path) const { return caller_.cwd + "/" + std::string(path); }
  std::string file(std::string_view path, std::string_view content = "x") {
    return tree_.file("home/project/" + std::string(path), content);
  }
  void link(std::string_view path, std::string_view target) {
    tree_.link("home/project/" + std::string(path), target);
  }
  bool exists(std::string_view path) { return tree_.exists("home/project/" + std::string(path)); }
  std::string handoff(std::string_view name) {
    return caller_.state_directory + "/handoff/run-1/" + std::string(name);
  }

  TestTree tree_;
  Caller caller_;
  std::optional<Clamped> clamped_;
  TreeSnapshot before_;
};

TEST_F(Aftermath, LeavesOrdinaryWorkAlone) {
  file("src/main.cc");
  start();
  file("src/new.cc");
  file("build/out.o");
  EXPECT_THAT(end(), IsEmpty());
  EXPECT_TRUE(exists("src/new.cc"));
  EXPECT_FALSE(std::filesystem::exists(caller_.state_directory));
}

// FS01, TH10 to TH12.
TEST_F(Aftermath, MovesProtectedNamesThatAppeared) {
  start();
  file(".vscode/tasks.json", "evil");
  file("deep/er/.mcp.json", "evil");
  file(".claude/settings.json");
  file("x/.cursor/mcp.json");
  const std::vector<Handoff> moved = end();
  EXPECT_THAT(paths_of(moved), ElementsAre(".claude", ".vscode", "deep/er/.mcp.json", "x/.cursor"));
  EXPECT_EQ(moved[1].kind, "editor");
  EXPECT_EQ(moved[1].moved_to, handoff(".vscode"));
  EXPECT_EQ(TestTree::read_path(handoff(".vscode/tasks.json")), "evil");
  EXPECT_EQ(TestTree::read_path(handoff("deep%2Fer%2F.mcp.json")), "evil");
  EXPECT_FALSE(exists(".vscode"));
  EXPECT_FALSE(exists("deep/er/.mcp.json"));
}

TEST_F(Aftermath, LeavesWhatWasThere) {
  file(".vscode/settings.json");
  file(".mcp.json");
  file("Makefile");
  link(".idea", "elsewhere");
  start();
  EXPECT_THAT(end(), IsEmpty());
  EXPECT_TRUE(exists(".vscode/settings.json"));
  EXPECT_TRUE(exists(".idea"));
}

// FS44.
TEST_F(Aftermath, KeepsTheHandoffDirectoryToItsOwner) {
  start();
  file(".mcp.json");
  ASSERT_EQ(end().size(), 1U);
  struct stat status {};
  ASSERT_EQ(::stat((caller_.state_directory + "/handoff").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  ASSERT_EQ(::stat(handoff("").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST_F(Aftermath, RefusesAHandoffDirectoryThatIsALink) {
  const std::string elsewhere = tree_.directory("elsewhere");
  tree_.link("home/.local/state/cordon/handoff", elsewhere);
  start();
  file(".mcp.json");
  const std::vector<Handoff> moved = end();
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere));
  // It cannot leave, so it lost its name instead.
  EXPECT_FALSE(exists(".mcp.json"));
  ASSERT_EQ(moved.size(), 1U);
  EXPECT_THAT(moved[0].moved_to, HasSubstr("cordon-handoff-run-1"));
}

TEST_F(Aftermath, MovesAReplacementUnderARenamedParent) {
  file("sub/.vscode/settings.json");
  start();
  ASSERT_EQ(::rename(in("sub").c_str(), in("away").c_str()), 0);
  file("sub/.vscode/tasks.json");
  EXPECT_THAT(paths_of(end()), ElementsAre("sub/.vscode"));
  EXPECT_TRUE(exists("away/.vscode/settings.json"));
}

// FS35.
TEST_F(Aftermath, MovesALinkThatTookAProtectedName) {
  file("evil/tasks.json");
  start();
  link(".vscode", "evil");
  EXPECT_THAT(paths_of(end()), ElementsAre(".vscode"));
  EXPECT_FALSE(exists(".vscode"));
  EXPECT_TRUE(exists("evil/tasks.json"));
}

TEST_F(Aftermath, MovesAnOldLinkWhoseWayWasRebuilt) {
  file("cfg/vs/settings.json");
  link(".vscode", "cfg/vs");
  link(".idea", "cfg2/missing");
  start();
  ASSERT_EQ(::rename(in("cfg").c_str(), in("cfg-old").c_str()), 0);
  file("cfg/vs/tasks.json");
  EXPECT_THAT(paths_of(end()), ElementsAre(".vscode"));
  EXPECT_TRUE(exists(".idea"));
}

// A freed inode number may be given to what takes the place of a link.
TEST_F(Aftermath, IsNotFooledByAReusedInode) {
  link(".vscode", "nowhere");
  start();
  ASSERT_EQ(::unlink(in(".vscode").c_str()), 0);
  file(".vscode/tasks.json");
  struct stat status {};
  ASSERT_EQ(::lstat(in(".vscode").c_str(), &status), 0);
  const FileId reused{status.st_dev, status.st_ino};
  ASSERT_EQ(before_.loose_objects.size(), 1U);
  const TreeSnapshot::Loose old = before_.loose_objects.begin()->second;
  before_.loose_objects = {{reused, old}};
  EXPECT_THAT(paths_of(end()), ElementsAre(".vscode"));
}

// FS42, OV06.
TEST_F(Aftermath, MovesFifosWithoutOpeningThem) {
  start();
  ASSERT_EQ(::mkfifo(in(".mcp.json").c_str(), 0600), 0);
  EXPECT_THAT(paths_of(end()), ElementsAre(".mcp.json"));
  EXPECT_FALSE(exists(".mcp.json"));
}

// FS29.
TEST_F(Aftermath, GivesAwkwardNamesAPlainOne) {
  start();
  file("a\nb\x1b[31m%/.mcp.json");
  file(std::string(200, 'x') + "/" + std::string(200, 'y') + "/.mcp.json");
  const std::vector<Handoff> moved = end();
  ASSERT_EQ(moved.size(), 2U);
  for (const Handoff& one : moved) {
    const std::string name = std::filesystem::path(one.moved_to).filename();
    EXPECT_LE(name.size(), 255U);
    for (const char c : name) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
    EXPECT_TRUE(std::filesystem::exists(one.moved_to));
  }
  EXPECT_EQ(moved[0].moved_to, handoff("a%0Ab%1B[31m%25%2F.mcp.json"));
}

TEST_F(Aftermath, KeepsTwoOfTheSameName) {
  start();
  file(".mcp.json", "one");
  ASSERT_EQ(end().size(), 1U);
  file(".mcp.json", "two");
  ASSERT_EQ(end().size(), 1U);
  EXPECT_EQ(TestTree::read_path(handoff(".mcp.json")), "one");
  EXPECT_EQ(TestTree::read_path(handoff(".mcp.json~1")), "two");
}

TEST_F(Aftermath, OnlyReportsBuildFiles) {
  file("Makefile");
  file("old/package.json");
  file(".github/workflows/ci.yml");
  start();
  file("new/Makefile");
  file("old/package.json", "changed");
  file(".github/workflows/evil.yml");
  file("node_modules/p/package.json");
  file("node_modules/p/.vscode/settings.json");
  const std::vector<Handoff> found = end();
  EXPECT_THAT(paths_of(found), ElementsAre(".github/workflows/evil.yml", "new/Makefile",
                                           "node_modules/p/.vscode", "old/package.json"));
  for (const Handoff& one : found) EXPECT_EQ(one.moved_to, "");
  EXPECT_TRUE(exists("new/Makefile"));
}

TEST_F(Aftermath, MovesDeniedNamesThatAppeared) {
  Policy policy = writable({"@cwd"});
  policy.fs.deny = {{".env", {}}, {"conf/secret", caller_.cwd}};
  file("a/.env");
  start(policy);
  file("b/.env");
  file("conf/secret");
  file("conf/public");
  const std::vector<Handoff> moved = end();
  EXPECT_THAT(paths_of(moved), ElementsAre("b/.env", "conf/secret"));
  EXPECT_EQ(moved[0].kind, "denied");
  EXPECT_TRUE(exists("a/.env"));
  EXPECT_TRUE(exists("conf/public"));
}

TEST_F(Aftermath, MovesADirectoryOnPathThatAppeared) {
  caller_.environment["PATH"] = "/usr/bin:" + in("tools/bin");
  start();
  file("tools/bin/ls");
  file("tools/other/ls");
  const std::vector<Handoff> moved = end();
  EXPECT_THAT(paths_of(moved), ElementsAre("tools/bin"));
  EXPECT_EQ(moved[0].kind, "path");
}

TEST_F(Aftermath, LooksIntoDirectoriesThatWereClosedToReading) {
  ASSERT_EQ(::chmod(tree_.root().c_str(), 0777), 0);
  ASSERT_EQ(::chmod(caller_.home.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(caller_.cwd.c_str(), 0777), 0);
  start();
  const testing::OrdinaryUser ordinary;
  file("x/.mcp.json");
  ASSERT_EQ(::chmod(in("x").c_str(), 0311), 0);
  file("y/z/.mcp.json");
  ASSERT_EQ(::chmod(in("y/z").c_str(), 0555), 0);
  EXPECT_THAT(paths_of(end()), ElementsAre("x/.mcp.json", "y/z/.mcp.json"));
  struct stat status {};
  ASSERT_EQ(::stat(in("x").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0311U);
  ASSERT_EQ(::chmod(in("x").c_str(), 0755), 0);
  ASSERT_EQ(::chmod(in("y/z").c_str(), 0755), 0);
}

// What hides behind permissions is found, and the permissions are as the run left them.
TEST_F(Aftermath, SearchesDirectoriesThatWereClosed) {
  ASSERT_EQ(::chmod(tree_.root().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(caller_.home.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(caller_.cwd.c_str(), 0777), 0);
  start();
  const testing::OrdinaryUser ordinary;
  constexpr std::array<mode_t, 5> kModes = {0, 0100, 0200, 0400, 0600};
  for (const mode_t mode : kModes) {
    const std::string name = "c" + std::to_string(mode);
    file(name + "/.vscode/tasks.json");
    file(name + "/.git/hooks/pre-commit");
    file(name + "/.git/HEAD");
    file(name + "/in/.mcp.json");
    file(name + "/sub/.git", "gitdir: /etc\n");
    ASSERT_EQ(::chmod(in(name + "/in").c_str(), mode), 0);
    ASSERT_EQ(::chmod(in(name).c_str(), mode), 0);
  }
  std::vector<std::string> expected;
  for (const mode_t mode : kModes)
    for (const char* path : {"/.git/hooks/pre-commit", "/.vscode", "/in/.mcp.json", "/sub/.git"})
      expected.push_back("c" + std::to_string(mode) + path);
  EXPECT_THAT(paths_of(end()), ::testing::UnorderedElementsAreArray(expected));
  for (const mode_t mode : kModes) {
    const std::string name = "c" + std::to_string(mode);
    struct stat status {};
    ASSERT_EQ(::stat(in(name).c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode);
    ASSERT_EQ(::chmod(in(name).c_str(), 0755), 0);
    ASSERT_EQ(::stat(in(name + "/in").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, mode);
    ASSERT_EQ(::chmod(in(name + "/in").c_str(), 0755), 0);
    EXPECT_FALSE(exists(name + "/.vscode"));
  }
}

TEST_F(Aftermath, SearchesAGrantThatWasClosed) {
  ASSERT_EQ(::chmod(tree_.root().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(caller_.home.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(caller_.cwd.c_str(), 0777), 0);
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown(caller_.cwd.c_str(), 65534, 65534), 0);
  }
  start();
  const testing::OrdinaryUser ordinary;
  file(".vscode/tasks.json");
  ASSERT_EQ(::chmod(caller_.cwd.c_str(), 0), 0);
  EXPECT_THAT(paths_of(end()), ElementsAre(".vscode"));
  ASSERT_EQ(::chmod(caller_.cwd.c_str(), 0755), 0);
}

TEST_F(Aftermath, LeavesDirectoriesThatWereClosedBefore) {
  ASSERT_EQ(::chmod(tree_.root().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(caller_.home.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(caller_.cwd.c_str(), 0777), 0);
  const testing::OrdinaryUser ordinary;
  for (const char* name : {"shut", "list", "reopened", "passed"}) {
    file(std::string(name) + "/.vscode/tasks.json");
    ASSERT_EQ(::chmod(in(name).c_str(), std::string(name) == "list" ? 0400 : 0), 0);
  }
  ASSERT_EQ(::chmod(in("passed").c_str(), 0100), 0);
  start();
  ASSERT_EQ(::chmod(in("reopened").c_str(), 0700), 0);
  file("reopened/.vscode/launch.json");
  ASSERT_EQ(::chmod(in("reopened").c_str(), 0), 0);
  const std::vector<Handoff> found = end();
  EXPECT_THAT(paths_of(found), ElementsAre("passed", "reopened/.vscode"));
  EXPECT_THAT(found[0].kind, HasSubstr("unchecked"));
  for (const char* name : {"shut", "list", "reopened", "passed"})
    ASSERT_EQ(::chmod(in(name).c_str(), 0755), 0);
  EXPECT_TRUE(exists("shut/.vscode/tasks.json"));
  EXPECT_TRUE(exists("list/.vscode/tasks.json"));
}

// git needs no right to list what it knows by name.
TEST_F(Aftermath, TakesClosedPartsOfARepository) {
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
TEST_F(Aftermath, TakesWhatAppearedInAnExistingRepository) {
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

TEST_F(Aftermath, LeavesAnInterruptedRebaseOfTheHostAlone) {
  git(caller_.cwd, "init -q");
  file(".git/rebase-merge/git-rebase-todo", "exec make test\n");
  start();
  EXPECT_THAT(end(), IsEmpty());
}

TEST_F(Aftermath, LetsANewRepositoryWork) {
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
TEST_F(Aftermath, CleansTheConfigurationOfANewRepository) {
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

TEST_F(Aftermath, CleansWhatLooksLikeABareRepository) {
  start();
  file("innocent/HEAD", "ref: refs/heads/main\n");
  tree_.directory("home/project/innocent/objects");
  tree_.directory("home/project/innocent/refs");
  file("innocent/config", "[core]\n\tfsmonitor = evil\n");
  file("hidden/HEAD", "ref: refs/heads/main\n");
  file("hidden/commondir", "../evil\n");
  EXPECT_THAT(paths_of(end()), ElementsAre("hidden/commondir", "innocent/config"));
}

TEST_F(Aftermath, StillFindsProtectedNamesBesideAFakeRepository) {
  start();
  file("x/HEAD");
  tree_.directory("home/project/x/objects");
  tree_.directory("home/project/x/refs");
  file("x/.vscode/tasks.json");
  EXPECT_THAT(paths_of(end()), ElementsAre("x/.vscode"));
}

TEST_F(Aftermath, TakesAPointerToAGitDirectoryItDoesNotKnow) {
  start();
  file("evil/HEAD", "ref: refs/heads/main\n");
  file("sub/.git", "gitdir: ../evil\n");
  file("sub2/.git", "gitdir: /etc\n");
  link("sub3/.git", "../evil");
  EXPECT_THAT(paths_of(end()), ElementsAre("sub/.git", "sub2/.git", "sub3/.git"));
}

TEST_F(Aftermath, KeepsNewSubmodulesAndWorktreesThatLeadBack) {
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

TEST_F(Aftermath, TakesNewWorktreesAndModulesThatLeadElsewhere) {
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
TEST_F(Aftermath, TakesHooksThatAppearWhereTheConfigurationLooksForThem) {
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

TEST_F(Aftermath, TakesWhatTheUsersOwnConfigurationNamesWithoutARepository) {
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

TEST_F(Aftermath, TakesALinkUnderTheNameOfTheHooks) {
  git(caller_.cwd, "init -q");
  git(caller_.cwd, "config core.hooksPath .hooks");
  file("scripts/pre-commit");
  start();
  link(".hooks", "scripts");
  EXPECT_THAT(paths_of(end()), Contains(".hooks"));
}

TEST_F(Aftermath, TakesAConfigurationOfItsOwn) {
  tree_.directory("home/.config");
  start(writable({"~/.config"}));
  tree_.file("home/.config/cordon/policies/evil.toml");
  EXPECT_THAT(paths_of(end()), ElementsAre(caller_.config_directory));
}

TEST_F(Aftermath, FollowsNoLinkOutOfTheTree) {
  tree_.file("outside/.vscode/settings.json");
  start();
  link("door", "../../outside");
  EXPECT_THAT(end(), IsEmpty());
  EXPECT_TRUE(tree_.exists("outside/.vscode/settings.json"));
}

TEST(RunsSomething, KnowsExecLinesInEverySpelling) {
  EXPECT_TRUE(runs_something("pick 1 x\nexec evil\n"));
  EXPECT_TRUE(runs_something("  \tx evil"));
  EXPECT_TRUE(runs_something("x\tevil"));
  EXPECT_TRUE(runs_something("!evil"));
  EXPECT_FALSE(runs_something("# exec commented\npick 1 exec x\nfixup 2\n"));
  EXPECT_FALSE(runs_something(""));
}

TEST(MoveByCopy, CopiesATreeAndRemovesTheSource) {
  const TestTree tree;
  tree.file("from/d/file", "content");
  tree.link("from/d/link", "/etc/passwd");
  ASSERT_EQ(::mkfifo(tree.at("from/d/fifo").c_str(), 0600), 0);
  ASSERT_EQ(::chmod(tree.at("from/d/file").c_str(), 04755), 0);
  tree.directory("to");
  const Fd from(::open(tree.at("from").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd to(::open(tree.at("to").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(move_by_copy(from.get(), "d", to.get(), "e"), 0);
  EXPECT_FALSE(tree.exists("from/d"));
  EXPECT_EQ(tree.read("to/e/file"), "content");
  EXPECT_EQ(std::filesystem::read_symlink(tree.at("to/e/link")), "/etc/passwd");
  EXPECT_FALSE(tree.exists("to/e/fifo"));
  struct stat status {};
  ASSERT_EQ(::stat(tree.at("to/e/file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700U);
}

TEST(MoveByCopy, LeavesTheSourceIfTheDestinationIsTaken) {
  const TestTree tree;
  tree.file("a", "1");
  tree.file("b", "2");
  const Fd at(::open(tree.root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(move_by_copy(at.get(), "a", at.get(), "b"), EEXIST);
  EXPECT_EQ(tree.read("a"), "1");
  EXPECT_EQ(tree.read("b"), "2");
}

TEST(MoveByCopy, LeavesNothingOfATreeThatIsTooDeep) {
  const TestTree tree;
  std::string deep = "d";
  for (int i = 0; i < 200; ++i) deep += "/d";
  tree.directory(deep);
  tree.directory("to");
  const Fd at(::open(tree.root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const Fd to(::open(tree.at("to").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(move_by_copy(at.get(), "d", to.get(), "d"), ELOOP);
  EXPECT_TRUE(tree.exists(deep));
  EXPECT_FALSE(tree.exists("to/d"));
}

TEST(Snapshot, IsReadBackAsItWasWritten) {
  TreeSnapshot snapshot;
  snapshot.protected_objects = {{1, 2}, {3, 4}};
  snapshot.unmade = {"/a path: with a colon"};
  snapshot.loose_objects[{5, 6}] = {FileKind::Other, 7};
  snapshot.loose_objects[{5, 8}] = {FileKind::Regular, 9};
  snapshot.loose_objects[{5, 9}] = {FileKind::Directory, 10};
  snapshot.git_directories = {"/w/.git", "/a:b/.git"};
  const TreeSnapshot again = read_snapshot(write_snapshot(snapshot));
  EXPECT_EQ(again.protected_objects, snapshot.protected_objects);
  EXPECT_EQ(again.unmade, snapshot.unmade);
  EXPECT_EQ(again.loose_objects, snapshot.loose_objects);
  EXPECT_EQ(again.git_directories, snapshot.git_directories);
  const std::vector<std::string> odd = {"", "held:", "held:x:1", "loose:1:2", "other:1:2"};
  EXPECT_TRUE(read_snapshot(odd).protected_objects.empty());
}

}  // namespace
}  // namespace cordon
