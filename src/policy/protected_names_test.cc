#include "policy/protected_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace cordon {
namespace {

TEST(ProtectedNames, HaveAReasonEachAndStandOnce) {
  std::set<std::string_view> names;
  for (const ProtectedName& entry : protected_names()) {
    EXPECT_FALSE(entry.reason.empty()) << entry.name;
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_LE(std::count(entry.name.begin(), entry.name.end(), '/'), 1) << entry.name;
  }
}

TEST(ProtectedNames, AreAllFoundBelowTheirParent) {
  for (const ProtectedName& entry : protected_names()) {
    const std::size_t slash = entry.name.find('/');
    const bool nested = slash != std::string_view::npos;
    const ProtectedName* found =
        nested ? find_protected(entry.name.substr(0, slash), entry.name.substr(slash + 1))
               : find_protected("anything", entry.name);
    ASSERT_NE(found, nullptr) << entry.name;
    EXPECT_EQ(found->name, entry.name);
    EXPECT_EQ(found->reason, entry.reason);
  }
}

TEST(ProtectedNames, HoldWhatTheHostWouldRunUnasked) {
  for (const char* name :
       {".vscode",          ".idea",      ".claude",    ".mcp.json",     ".codex",
        ".cursor",          ".gemini",    ".bashrc",    ".bash_profile", ".bash_login",
        ".bash_logout",     ".profile",   ".zshrc",     ".zshenv",       ".zprofile",
        ".zlogin",          ".zlogout",   ".inputrc",   ".kshrc",        ".cshrc",
        ".tcshrc",          ".login",     ".xprofile",  ".xinitrc",      ".xsession",
        ".pam_environment", ".gitconfig", ".ripgreprc", ".copilot"}) {
    const ProtectedName* found = find_protected("src", name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->action, HoldAction::Hold) << name;
    EXPECT_FALSE(found->home_only) << name;
  }
}

TEST(ProtectedNames, CountSomeOnlyInAHome) {
  for (const auto& [parent, name] : {std::pair{"u", ".ssh"},
                                     {"u", "bin"},
                                     {".local", "bin"},
                                     {".config", "autostart"},
                                     {".config", "systemd"},
                                     {".config", "fish"}}) {
    const ProtectedName* found = find_protected(parent, name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->action, HoldAction::Hold) << name;
    EXPECT_TRUE(found->home_only) << name;
  }
}

TEST(ProtectedNames, OnlyReportWhatHonestWorkWrites) {
  for (const auto& [parent, name] : {std::pair{".github", "workflows"},
                                     {"p", "package.json"},
                                     {"p", "Makefile"},
                                     {"p", ".envrc"},
                                     {"p", "conftest.py"},
                                     {"p", ".gitmodules"}}) {
    const ProtectedName* found = find_protected(parent, name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->action, HoldAction::Report) << name;
  }
}

TEST(ProtectedNames, ArePreciseAboutTheParent) {
  EXPECT_EQ(find_protected("src", "hooks"), nullptr);
  EXPECT_EQ(find_protected(".gitlab", "workflows"), nullptr);
  EXPECT_EQ(find_protected("src", "config"), nullptr);
  EXPECT_NE(find_protected(".git", "hooks"), nullptr);
  EXPECT_EQ(find_protected(".local", "bin")->name, ".local/bin");
  EXPECT_EQ(find_protected("u", "bin")->name, "bin");
}

TEST(ProtectedNames, LeaveOrdinaryNamesAlone) {
  for (const char* name : {"", "main.c", ".gitignore", ".vscodex", "vscode", "README.md", "zzz"}) {
    EXPECT_EQ(find_protected("src", name), nullptr) << name;
  }
}

TEST(ProtectedNames, KnowPackageDirectories) {
  EXPECT_TRUE(is_package_directory("node_modules"));
  EXPECT_TRUE(is_package_directory("site-packages"));
  EXPECT_TRUE(is_package_directory("vendor"));
  EXPECT_FALSE(is_package_directory("src"));
}

// Item by item what opening a project runs; .npmrc and .yarnrc.yml only count when they are asked
// for.
TEST(ProtectedNames, HoldWhatOpeningAProjectRuns) {
  for (const auto& [parent, name] : {std::pair{"p", ".zed"},
                                     {"p", ".windsurf"},
                                     {"p", ".kiro"},
                                     {"p", ".roo"},
                                     {"p", ".continue"},
                                     {"p", ".opencode"},
                                     {"p", "opencode.json"},
                                     {"p", ".pre-commit-config.yaml"},
                                     {"p", "lefthook.yml"},
                                     {"p", ".exrc"},
                                     {"p", ".vimrc"},
                                     {"p", ".gvimrc"},
                                     {"p", ".helix"},
                                     {"p", ".nvim.lua"},
                                     {"p", ".dir-locals.el"},
                                     {"p", "mise.toml"},
                                     {"p", ".mise.toml"},
                                     {".cargo", "config.toml"}}) {
    const ProtectedName* found = find_protected(parent, name);
    ASSERT_NE(found, nullptr) << name;
    EXPECT_EQ(found->action, HoldAction::Hold) << name;
  }
  for (const char* name : {".npmrc", ".yarnrc.yml"})
    EXPECT_EQ(find_protected("p", name)->action, HoldAction::Report) << name;
}

TEST(ProtectedNames, AreAddedAndReleasedByOperators) {
  const ProtectRules rules{{"deploy.sh", "ci/run", "Makefile"}, {".vscode", ".idea"}};
  EXPECT_EQ(find_protected("p", "deploy.sh", rules)->kind, HoldKind::Operator);
  EXPECT_EQ(find_protected("ci", "run", rules)->kind, HoldKind::Operator);
  EXPECT_EQ(find_protected("p", "run", rules), nullptr);
  EXPECT_EQ(find_protected("p", "Makefile", rules)->action, HoldAction::Hold);
  EXPECT_EQ(find_protected("p", ".vscode", rules), nullptr);
  EXPECT_EQ(find_protected("p", ".claude", rules)->name, ".claude");
  EXPECT_EQ(find_protected("p", ".vscode", {{".vscode"}, {".vscode"}})->action, HoldAction::Hold);
  EXPECT_EQ(added_name("ci", "run", rules), "ci/run");
}

TEST(ProtectedNames, CanBeReleasedButForTheFilesOfGit) {
  EXPECT_TRUE(can_be_released(".vscode"));
  EXPECT_TRUE(can_be_released(".cargo/config.toml"));
  EXPECT_FALSE(can_be_released(".git/hooks"));
  EXPECT_FALSE(can_be_released(".git/config"));
  EXPECT_FALSE(can_be_released("main.c"));
}

TEST(GitNames, AreThoseOfAGitDirectory) {
  for (const char* name : {"hooks", "config", "config.worktree", "rebase-merge", "modules",
                           "COMMIT_EDITMSG", "FETCH_HEAD", "MERGE_MSG", "BISECT_RUN", "remotes"})
    EXPECT_TRUE(is_git_name(name)) << name;
  for (const char* name : {"main", "src", "work", ".git"}) EXPECT_FALSE(is_git_name(name)) << name;
}

TEST(HoldKinds, AreNamedAsInTheReport) {
  EXPECT_EQ(name_of(HoldKind::Git), "git");
  EXPECT_EQ(name_of(HoldKind::Shell), "shell");
  EXPECT_EQ(name_of(HoldKind::Editor), "editor");
  EXPECT_EQ(name_of(HoldKind::Agent), "agent");
  EXPECT_EQ(name_of(HoldKind::Ssh), "ssh");
  EXPECT_EQ(name_of(HoldKind::Path), "path");
  EXPECT_EQ(name_of(HoldKind::Autostart), "autostart");
  EXPECT_EQ(name_of(HoldKind::Cron), "cron");
  EXPECT_EQ(name_of(HoldKind::Denied), "denied");
  EXPECT_EQ(name_of(HoldKind::Build), "build");
  EXPECT_EQ(name_of(HoldKind::Operator), "operator");
}

}  // namespace
}  // namespace cordon
