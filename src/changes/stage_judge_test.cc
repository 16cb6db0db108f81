#include "changes/stage_judge.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace cordon {
namespace {

StageRecord record() {
  StageRecord made;
  made.roots = {{"/p", {1, 2}, "/s/0/upper", "/s/0/work"}};
  made.held.homes = {"/home/u"};
  made.held.on_path = {"/p/venv/bin"};
  made.deny = {{"*.pem", "", "*.pem"}, {"/p/closed", "/p/closed", ""}};
  made.named = {"/p/granted/deep"};
  made.own = {"/p/build/cordon"};
  made.holds = {{"/p/tools/diff.sh", "git"}, {"/p/.githooks", "git"}};
  return made;
}

std::string reason(std::string_view path, bool replaces = false) {
  const StageRecord made = record();
  return StageJudge(made).judge(path, replaces).reason;
}

TEST(StageJudge, LetsOrdinaryNamesPass) {
  for (const char* path : {"/p/a", "/p/src/main.c", "/p/Makefile", "/p/.gitignore", "/p/.github/x",
                           "/p/node_modules/x/.vscode/settings.json", "/p/venv/lib/x"}) {
    EXPECT_EQ(reason(path), "") << path;
  }
}

TEST(StageJudge, HoldsWhatTheHostRuns) {
  EXPECT_EQ(reason("/p/.vscode/tasks.json"), "editor");
  EXPECT_EQ(reason("/p/.VSCode/tasks.json"), "editor");
  EXPECT_EQ(reason("/p/sub/.claude"), "agent");
  EXPECT_EQ(reason("/p/node_modules/x/.claude/settings.json"), "agent");
  EXPECT_EQ(reason("/p/venv/bin/git"), "path");
  EXPECT_EQ(reason("/p/tools/diff.sh"), "git");
  EXPECT_EQ(reason("/p/.githooks/pre-commit"), "git");
  EXPECT_EQ(reason("/p/sub/.git"), kGitReason);
  EXPECT_EQ(reason("/p/sub/.GIT/config"), kGitReason);
}

TEST(StageJudge, HoldsWhatIsDeniedAndEverythingInIt) {
  EXPECT_EQ(reason("/p/deep/k.pem"), "denied");
  EXPECT_EQ(reason("/p/k.pem/inside"), "denied");
  EXPECT_EQ(reason("/p/closed/x"), "denied");
}

TEST(StageJudge, HoldsWhatLeadsToNamedPathsIfItIsReplaced) {
  EXPECT_EQ(reason("/p/granted"), "");
  EXPECT_EQ(reason("/p/granted", true), "a policy names it");
  EXPECT_EQ(reason("/p/tools", true), "git");
  EXPECT_EQ(reason("/p/build", true), "cordon's own files");
  EXPECT_EQ(reason("/p/build/cordon"), "cordon's own files");
  EXPECT_EQ(reason("/p/build/other", true), "");
}

TEST(StageJudge, NamesTheProtectedObject) {
  const StageRecord made = record();
  EXPECT_EQ(StageJudge(made).judge("/p/a/.vscode/b/c", false).top, "/p/a/.vscode");
}

TEST(StageJudge, JudgesLinksByWhereTheyLead) {
  const StageRecord made = record();
  const StageJudge judge(made);
  const auto link = [&](std::string_view target) {
    return judge.judge_object("/p/a/link", S_IFLNK | 0777, target).reason;
  };
  for (const char* inside : {"b", "../b", "./../a/../c", "/p/x", "/usr/bin/env", "/p"}) {
    // ".." behind a name may climb out of a link of that name.
    EXPECT_EQ(link(inside), std::string_view(inside) == "./../a/../c" ? kLeadsOut : "") << inside;
  }
  for (const char* outside : {"../../x", "/etc2", "/home/u/.ssh", "/pp", "b/../../../x", "/"}) {
    EXPECT_EQ(link(outside), kLeadsOut) << outside;
  }
}

TEST(StageJudge, NeverAppliesPowerAndWhatIsNoFile) {
  const StageRecord made = record();
  const StageJudge judge(made);
  EXPECT_EQ(judge.judge_object("/p/a", S_IFREG | 04755, "").reason, kSetId);
  EXPECT_EQ(judge.judge_object("/p/a", S_IFREG | 02755, "").reason, kSetId);
  EXPECT_EQ(judge.judge_object("/p/a", S_IFIFO | 0644, "").reason, kNoFile);
  EXPECT_EQ(judge.judge_object("/p/a", S_IFSOCK | 0755, "").reason, kNoFile);
  EXPECT_EQ(judge.judge_object("/p/a", S_IFDIR | 02755, "").reason, "");
  EXPECT_EQ(judge.judge_object("/p/a", S_IFREG | 0755, "").reason, "");
}

}  // namespace
}  // namespace cordon
