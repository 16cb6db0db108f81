#include "host/git/references.h"

#include <gmock/gmock.h>
#include <pwd.h>
#include <sys/stat.h>

#include "host/git/config.h"
#include "host/test_tree.h"

namespace cordon {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using testing::git;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using testing::paths_of;
using testing::TestTree;
using ::testing::UnorderedElementsAre;

class GitReferencesTest : public ::testing::Test {
 protected:
  GitReferencesTest() : caller_(tree_.caller()) { git(caller_.cwd, "init -q"); }

  std::string in(std::string_view path) const { return caller_.cwd + "/" + std::string(path); }
  std::vector<std::string> found(const GitReferences& references) const {
    std::vector<std::string> paths;
    for (const GitReference& one : references.find()) {
      const std::string path = std::filesystem::path(one.path).lexically_normal();
      if (path.find("/.git/") == std::string::npos) paths.push_back(path);
    }
    return paths;
  }
  std::vector<std::string> named_by(const std::string& key, const std::string& value) {
    git(caller_.cwd, "config " + key + " '" + value + "'");
    const UserGit user = read_user_git_config(caller_);
    GitReferences references(caller_, user);
    references.add(in(".git"), GitRole::Main);
    return found(references);
  }

  TestTree tree_;
  Caller caller_;
};

TEST_F(GitReferencesTest, FindsTheFilesOfACommand) {
  EXPECT_THAT(named_by("core.fsmonitor", "./tools/watch"), ElementsAre(in("tools/watch")));
}

TEST_F(GitReferencesTest, FindsTheArgumentsOfAnInterpreter) {
  EXPECT_THAT(named_by("diff.x.textconv", "python3 conv.py --to=text/plain"),
              IsSupersetOf({in("conv.py")}));
  EXPECT_THAT(named_by("diff.x.textconv", "python3"), IsEmpty());
}

TEST_F(GitReferencesTest, FindsWhatTheShellIsTold) {
  EXPECT_THAT(named_by("alias.x", "!A=1 exec \"$HOME/bin/a\" && (cd sub; ./b)"),
              IsSupersetOf({caller_.home + "/bin/a", in("b")}));
}

TEST_F(GitReferencesTest, LeavesGitsOwnWordsAlone) {
  EXPECT_THAT(named_by("alias.x", "log --oneline main"), IsEmpty());
  EXPECT_THAT(named_by("alias.x", "-c core.pager=./p log"), ElementsAre(in("p")));
  EXPECT_THAT(named_by("remote.x.url", "./other"), ElementsAre(in("p")));
  EXPECT_THAT(named_by("remote.x.url", "ext::sh ./other"), IsSupersetOf({in("other")}));
}

TEST_F(GitReferencesTest, TakesNoLongLineForAPath) {
  const std::string line = "!f() { ./a/" + std::string(300, 'x') + " && ./b; }; f";
  for (const std::string& path : named_by("alias.x", line)) EXPECT_LT(path.size(), 256U) << path;
  EXPECT_THAT(named_by("alias.x", line), Contains(in("b")));
}

TEST_F(GitReferencesTest, KnowsAPathFromAnArgument) {
  git(caller_.cwd, "config alias.x '!make test run.sh'");
  const UserGit user = read_user_git_config(caller_);
  GitReferences references(caller_, user);
  references.add(in(".git"), GitRole::Main);
  for (const GitReference& one : references.find())
    EXPECT_EQ(one.certain, one.path.ends_with("run.sh")) << one.path;
}

TEST_F(GitReferencesTest, TakesARelativeDirectoryAtTheTopOfEveryWorktree) {
  git(caller_.cwd, "commit -q --allow-empty -m x");
  git(caller_.cwd, "worktree add -q " + tree_.at("home/elsewhere"));
  EXPECT_THAT(named_by("core.hooksPath", ".hooks"), ElementsAre(in(".hooks")));
  const UserGit user = read_user_git_config(caller_);
  GitReferences references(caller_, user);
  references.add_pointer(tree_.at("home/elsewhere/.git"));
  EXPECT_THAT(found(references), Contains(tree_.at("home/elsewhere/.hooks")));
}

TEST_F(GitReferencesTest, FollowsIncludesOfIncludesWhateverTheCondition) {
  tree_.file("home/project/one.inc", "[includeIf \"gitdir:/nowhere\"]\n\tpath = a/two.inc\n");
  tree_.file("home/project/a/two.inc", "[include]\n\tpath = three.inc\n[core]\n\teditor = ./e\n");
  EXPECT_THAT(named_by("include.path", "../one.inc"),
              IsSupersetOf({in("a/two.inc"), in("a/three.inc"), in("e")}));
}

TEST_F(GitReferencesTest, EndsWithFilesThatIncludeThemselves) {
  std::string text;
  for (int i = 0; i < 10; ++i) text += "[include]\n\tpath = " + std::to_string(i) + ".inc\n";
  for (int i = 0; i < 10; ++i) tree_.file("home/project/" + std::to_string(i) + ".inc", text);
  ASSERT_EQ(::mkfifo(in("fifo").c_str(), 0600), 0);
  tree_.file("home/project/0.inc", text + "[include]\n\tpath = fifo\n");
  EXPECT_THAT(named_by("include.path", "../0.inc"), Contains(in("9.inc")));
}

TEST_F(GitReferencesTest, FindsTheRepositoriesAbove) {
  git(caller_.cwd, "config core.fsmonitor sub/deep/watch");
  const std::string deep = tree_.directory("home/project/sub/deep");
  git(tree_.at("home/project/sub"), "init -q");
  git(caller_.home, "init -q --bare");
  git(caller_.home, "--git-dir=. config core.editor project/sub/deep/edit");
  const UserGit user = read_user_git_config(caller_);
  GitReferences references(caller_, user);
  references.add_above(deep);
  EXPECT_THAT(found(references), IsSupersetOf({in("sub/deep/watch"), in("sub/deep/edit")}));
}

TEST_F(GitReferencesTest, CountsTheUsersConfigurationEverywhere) {
  tree_.file("home/.gitconfig",
             "[filter \"f\"]\n\tclean = sh ./clean.sh %f\n[includeIf \"x:y\"]\n"
             "\tpath = ~/project/mine.inc\n");
  const UserGit user = read_user_git_config(caller_);
  GitReferences nowhere(caller_, user);
  EXPECT_THAT(found(nowhere), ElementsAre(in("mine.inc")));
  GitReferences references(caller_, user);
  references.add(in(".git"), GitRole::Main);
  EXPECT_THAT(found(references), IsSupersetOf({in("clean.sh"), in("mine.inc")}));
}

TEST(GitPath, IsExpandedAsGitDoes) {
  Caller caller;
  caller.home = "/home/alex";
  EXPECT_EQ(git_path("~/x", "/b", caller), "/home/alex/x");
  const struct passwd* account = ::getpwuid(0);
  ASSERT_NE(account, nullptr);
  EXPECT_EQ(git_path("~" + std::string(account->pw_name) + "/x", "/b", caller),
            std::string(account->pw_dir) + "/x");
  EXPECT_EQ(git_path("~no-such-user/x", "/b", caller), std::nullopt);
  EXPECT_EQ(git_path("x", "/b", caller), "/b/x");
  EXPECT_EQ(git_path("/x", "/b", caller), "/x");
  EXPECT_EQ(git_path("%(prefix)/etc/x", "/b", caller), "/usr/etc/x");
}

}  // namespace
}  // namespace cordon
