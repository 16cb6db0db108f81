#include <gmock/gmock.h>
#include <sys/stat.h>

#include <array>

#include "host/post_run_tree.h"

namespace cordon {
namespace {

using testing::clamped;
using ::testing::ElementsAre;
using testing::git;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::paths_of;
using testing::surveyed;
using testing::TestTree;
using ::testing::UnorderedElementsAre;
using testing::writable;

using PostRunScan = testing::PostRunTree;

TEST_F(PostRunScan, LeavesOrdinaryWorkAlone) {
  file("src/faces/main.cc");
  start();
  file("src/new.cc");
  file("build/out.o");
  EXPECT_THAT(end(), IsEmpty());
  EXPECT_TRUE(exists("src/new.cc"));
  EXPECT_FALSE(std::filesystem::exists(caller_.state_directory));
}

// FS01, TH10 to TH12.
TEST_F(PostRunScan, MovesProtectedNamesThatAppeared) {
  start();
  file(".vscode/tasks.json", "evil");
  file("deep/er/.mcp.json", "evil");
  file(".claude/settings.json");
  file("x/.cursor/mcp.json");
  const std::vector<Quarantined> moved = end();
  EXPECT_THAT(paths_of(moved), ElementsAre(".claude", ".vscode", "deep/er/.mcp.json", "x/.cursor"));
  EXPECT_EQ(moved[1].kind, "editor");
  EXPECT_EQ(moved[1].moved_to, handoff(".vscode"));
  EXPECT_EQ(TestTree::read_path(handoff(".vscode/tasks.json")), "evil");
  EXPECT_EQ(TestTree::read_path(handoff("deep%2Fer%2F.mcp.json")), "evil");
  EXPECT_FALSE(exists(".vscode"));
  EXPECT_FALSE(exists("deep/er/.mcp.json"));
}

TEST_F(PostRunScan, LeavesWhatWasThere) {
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
TEST_F(PostRunScan, KeepsTheHandoffDirectoryToItsOwner) {
  start();
  file(".mcp.json");
  ASSERT_EQ(end().size(), 1U);
  struct stat status {};
  ASSERT_EQ(::stat((caller_.state_directory + "/handoff").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  ASSERT_EQ(::stat(handoff("").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
}

TEST_F(PostRunScan, RefusesAHandoffDirectoryThatIsALink) {
  const std::string elsewhere = tree_.directory("elsewhere");
  tree_.link("home/.local/state/cordon/handoff", elsewhere);
  start();
  file(".mcp.json");
  const std::vector<Quarantined> moved = end();
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere));
  // It cannot leave, so it lost its name instead.
  EXPECT_FALSE(exists(".mcp.json"));
  ASSERT_EQ(moved.size(), 1U);
  EXPECT_THAT(moved[0].moved_to, HasSubstr("cordon-handoff-run-1"));
}

TEST_F(PostRunScan, MovesAReplacementUnderARenamedParent) {
  file("sub/.vscode/settings.json");
  start();
  ASSERT_EQ(::rename(in("sub").c_str(), in("away").c_str()), 0);
  file("sub/.vscode/tasks.json");
  EXPECT_THAT(paths_of(end()), ElementsAre("sub/.vscode"));
  EXPECT_TRUE(exists("away/.vscode/settings.json"));
}

// FS35.
TEST_F(PostRunScan, MovesALinkThatTookAProtectedName) {
  file("evil/tasks.json");
  start();
  link(".vscode", "evil");
  EXPECT_THAT(paths_of(end()), ElementsAre(".vscode"));
  EXPECT_FALSE(exists(".vscode"));
  EXPECT_TRUE(exists("evil/tasks.json"));
}

// Where nothing could be pinned. The link is the person's, and leads nowhere then.
TEST_F(PostRunScan, MovesWhatStandsWhereTheWayOfAnOldLinkWasRebuilt) {
  file("cfg/vs/settings.json");
  link(".vscode", "cfg/vs");
  link(".idea", "cfg2/missing");
  start();
  ASSERT_EQ(::rename(in("cfg").c_str(), in("cfg-old").c_str()), 0);
  file("cfg/vs/tasks.json");
  EXPECT_THAT(paths_of(end()), ElementsAre("cfg/vs"));
  EXPECT_TRUE(exists(".vscode"));
  EXPECT_TRUE(exists(".idea"));
  EXPECT_TRUE(exists("cfg-old/vs/settings.json"));
}

TEST_F(PostRunScan, MovesWhatAppearsBehindALinkAndLeavesTheLink) {
  file(".vscode/settings.json");
  link(".vscode/tasks.json", "../cfg/tasks.json");
  link(".idea", "cfg/idea");
  start();
  file("cfg/tasks.json");
  file("cfg/ordinary");
  file("cfg/idea/x.xml");
  EXPECT_THAT(paths_of(end()), UnorderedElementsAre("cfg/tasks.json", "cfg/idea"));
  EXPECT_TRUE(exists(".vscode/tasks.json") && exists(".idea") && exists("cfg/ordinary"));
}

TEST_F(PostRunScan, MovesWhatWasReportedInAPackageOnceItCounts) {
  file("vendor/a/.vscode/tasks.json");
  file("vendor/a/.exrc");
  file("vendor/b/.exrc");
  start();
  ASSERT_EQ(::rename(in("vendor/a").c_str(), in("app").c_str()), 0);
  EXPECT_THAT(paths_of(end()), UnorderedElementsAre("app/.vscode", "app/.exrc"));
  EXPECT_TRUE(exists("vendor/b/.exrc"));
}

TEST_F(PostRunScan, MovesALinkThatMakesAProtectedName) {
  file("was/config.toml");
  start();
  file("made/config.toml");
  link("a/.cargo", "../made");
  link("b/.cargo", "../was");
  file("none/other");
  link("c/.cargo", "../none");
  EXPECT_THAT(paths_of(end()), UnorderedElementsAre("a/.cargo", "b/.cargo"));
  EXPECT_TRUE(exists("made/config.toml") && exists("c/.cargo"));
}

// A freed inode number may be given to what takes the place of a link.
TEST_F(PostRunScan, IsNotFooledByAReusedInode) {
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
TEST_F(PostRunScan, MovesFifosWithoutOpeningThem) {
  start();
  ASSERT_EQ(::mkfifo(in(".mcp.json").c_str(), 0600), 0);
  EXPECT_THAT(paths_of(end()), ElementsAre(".mcp.json"));
  EXPECT_FALSE(exists(".mcp.json"));
}

// FS29.
TEST_F(PostRunScan, GivesAwkwardNamesAPlainOne) {
  start();
  file("a\nb\x1b[31m%/.mcp.json");
  file(std::string(200, 'x') + "/" + std::string(200, 'y') + "/.mcp.json");
  const std::vector<Quarantined> moved = end();
  ASSERT_EQ(moved.size(), 2U);
  for (const Quarantined& one : moved) {
    const std::string name = std::filesystem::path(one.moved_to).filename();
    EXPECT_LE(name.size(), 255U);
    for (const char c : name) EXPECT_GE(static_cast<unsigned char>(c), 0x20);
    EXPECT_TRUE(std::filesystem::exists(one.moved_to));
  }
  EXPECT_EQ(moved[0].moved_to, handoff("a%0Ab%1B[31m%25%2F.mcp.json"));
}

TEST_F(PostRunScan, KeepsTwoOfTheSameName) {
  start();
  file(".mcp.json", "one");
  ASSERT_EQ(end().size(), 1U);
  file(".mcp.json", "two");
  ASSERT_EQ(end().size(), 1U);
  EXPECT_EQ(TestTree::read_path(handoff(".mcp.json")), "one");
  EXPECT_EQ(TestTree::read_path(handoff(".mcp.json~1")), "two");
}

TEST_F(PostRunScan, OnlyReportsBuildFiles) {
  file("Makefile");
  file("old/package.json");
  file(".github/workflows/ci.yml");
  start();
  file("new/Makefile");
  file("old/package.json", "changed");
  file(".github/workflows/evil.yml");
  file("node_modules/p/package.json");
  file("node_modules/p/.vscode/settings.json");
  const std::vector<Quarantined> found = end();
  EXPECT_THAT(paths_of(found), ElementsAre(".github/workflows/evil.yml", "new/Makefile",
                                           "node_modules/p/.vscode", "old/package.json"));
  for (const Quarantined& one : found) EXPECT_EQ(one.moved_to, "");
  EXPECT_TRUE(exists("new/Makefile"));
}

TEST_F(PostRunScan, MovesDeniedNamesThatAppeared) {
  Policy policy = writable({"@cwd"});
  policy.fs.deny = {{".env", {}}, {"conf/secret", caller_.cwd}};
  file("a/.env");
  start(policy);
  file("b/.env");
  file("conf/secret");
  file("conf/public");
  const std::vector<Quarantined> moved = end();
  EXPECT_THAT(paths_of(moved), ElementsAre("b/.env", "conf/secret"));
  EXPECT_EQ(moved[0].kind, "denied");
  EXPECT_TRUE(exists("a/.env"));
  EXPECT_TRUE(exists("conf/public"));
}

TEST_F(PostRunScan, MovesADirectoryOnPathThatAppeared) {
  caller_.environment["PATH"] = "/usr/bin:" + in("tools/bin");
  start();
  file("tools/bin/ls");
  file("tools/other/ls");
  const std::vector<Quarantined> moved = end();
  EXPECT_THAT(paths_of(moved), ElementsAre("tools/bin"));
  EXPECT_EQ(moved[0].kind, "path");
}

TEST_F(PostRunScan, LooksIntoDirectoriesThatWereClosedToReading) {
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
TEST_F(PostRunScan, SearchesDirectoriesThatWereClosed) {
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

TEST_F(PostRunScan, SearchesAGrantThatWasClosed) {
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

TEST_F(PostRunScan, LeavesDirectoriesThatWereClosedBefore) {
  ASSERT_EQ(::chmod(tree_.root().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(caller_.home.c_str(), 0777), 0);
  ASSERT_EQ(::chmod(caller_.cwd.c_str(), 0777), 0);
  const testing::OrdinaryUser ordinary;
  for (const char* name : {"shut", "list", "reopened", "passed"}) {
    file(std::string(name) + "/.vscode/tasks.json");
    ASSERT_EQ(::chmod(in(name).c_str(), std::string(name) == "list" ? 0400 : 0), 0);
  }
  ASSERT_EQ(::chmod(in("passed").c_str(), 0100), 0);
  const HostFacts facts = surveyed(clamped(writable({"@cwd"}), caller_), caller_).facts;
  EXPECT_THAT(paths_of(facts.closed),
              ElementsAre(in("list"), in("passed"), in("reopened"), in("shut")));
  start();
  // By the person: a mount keeps the run from it.
  ASSERT_EQ(::chmod(in("reopened").c_str(), 0700), 0);
  file("reopened/.vscode/launch.json");
  EXPECT_THAT(end(), IsEmpty());
  EXPECT_TRUE(exists("reopened/.vscode/launch.json"));
  for (const char* name : {"shut", "list", "reopened", "passed"})
    ASSERT_EQ(::chmod(in(name).c_str(), 0755), 0);
  EXPECT_TRUE(exists("shut/.vscode/tasks.json"));
  EXPECT_TRUE(exists("list/.vscode/tasks.json"));
}

TEST_F(PostRunScan, KnowsAHeldFileByMoreThanItsNumber) {
  file(".mcp.json");
  file(".bashrc");
  start();
  FileInfo other = *inspect_path(in(".mcp.json"));
  other.born_ns += 1;
  before_.protected_objects.insert(other);
  EXPECT_THAT(paths_of(end()), ElementsAre(".mcp.json"));
  EXPECT_TRUE(exists(".bashrc"));
}

TEST_F(PostRunScan, SearchesDirectoriesUnderNamesThatAreReported) {
  start();
  file("conftest.py/.vscode/tasks.json");
  file(".devcontainer/devcontainer.json");
  file(".devcontainer/.mcp.json");
  EXPECT_THAT(paths_of(end()), ElementsAre(".devcontainer", ".devcontainer/.mcp.json",
                                           "conftest.py", "conftest.py/.vscode"));
  EXPECT_TRUE(exists(".devcontainer/devcontainer.json"));
}

TEST_F(PostRunScan, SearchesARootThatWasRenamed) {
  const Clamped policy = clamped(writable({"@cwd"}), caller_);
  const Survey found = surveyed(policy, caller_);
  file(".vscode/tasks.json");
  std::filesystem::rename(caller_.cwd, tree_.at("home/elsewhere"));
  tree_.file("home/project/.vscode/mine");
  const auto handoff =
      post_run_scan(policy.effective().write, {}, caller_, found.snapshot,
                    caller_.state_directory + "/handoff", "run-1", nullptr, found.roots);
  ASSERT_TRUE(handoff.has_value());
  ASSERT_EQ(handoff->size(), 2U);
  EXPECT_EQ((*handoff)[0].path, tree_.at("home/elsewhere/.vscode"));
  EXPECT_THAT((*handoff)[1].kind, HasSubstr("another directory"));
  EXPECT_FALSE(tree_.exists("home/elsewhere/.vscode"));
  EXPECT_TRUE(tree_.exists("home/project/.vscode/mine"));
}

TEST_F(PostRunScan, NamesAThousandAndTakesAll) {
  start();
  constexpr int kMany = 1500;
  for (int i = 0; i < kMany; ++i) file("d" + std::to_string(i) + "/.mcp.json");
  const std::vector<Quarantined> found = end();
  ASSERT_EQ(found.size(), 1001U);
  EXPECT_EQ(found.back().path, "and 500 more");
  EXPECT_EQ(found.back().moved_to, caller_.state_directory + "/handoff/run-1");
  for (int i = 0; i < kMany; ++i) EXPECT_FALSE(exists("d" + std::to_string(i) + "/.mcp.json"));
}

TEST_F(PostRunScan, LeavesADeniedRootAlone) {
  file("data/.vscode/tasks.json");
  Policy policy = writable({in("data")});
  policy.fs.deny.push_back({in("data"), {}});
  start(policy);
  EXPECT_THAT(end(), IsEmpty());
  EXPECT_TRUE(exists("data/.vscode/tasks.json"));
}

// What the older run planted is new to the younger one; what was there before both is not.
TEST_F(PostRunScan, SharesWhatIsOldWithAnOlderRun) {
  file("mine/.mcp.json");
  const Clamped policy = clamped(writable({"@cwd"}), caller_);
  OlderRun older{"older", {caller_.cwd}, surveyed(policy, caller_).snapshot};
  older.snapshot.began_ns = 0;
  file(".mcp.json", "evil");
  clamped_.emplace(policy);
  const Result<Survey> found = survey(policy, caller_, {&older, 1});
  ASSERT_TRUE(found.has_value());
  before_ = found->snapshot;
  EXPECT_THAT(paths_of(end()), ElementsAre(".mcp.json"));
  EXPECT_TRUE(exists("mine/.mcp.json"));
}

TEST_F(PostRunScan, TakesAConfigurationOfItsOwn) {
  tree_.directory("home/.config");
  start(writable({"~/.config"}));
  tree_.file("home/.config/cordon/policies/evil.toml");
  EXPECT_THAT(paths_of(end()), ElementsAre(caller_.config_directory));
}

TEST_F(PostRunScan, FollowsNoLinkOutOfTheTree) {
  tree_.file("outside/.vscode/settings.json");
  start();
  link("door", "../../outside");
  EXPECT_THAT(end(), IsEmpty());
  EXPECT_TRUE(tree_.exists("outside/.vscode/settings.json"));
}

}  // namespace
}  // namespace cordon
