#include "host/git/config.h"
#include "host/git/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace cordon {
namespace {

using ::testing::ElementsAre;

TEST(ParseGitConfig, ReadsWhatGitWrites) {
  const auto settings = parse_git_config(
      "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
      "[remote \"origin\"]\n\turl = https://example.com/a.git\n"
      "\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n");
  ASSERT_TRUE(settings);
  EXPECT_THAT(
      *settings,
      ElementsAre(GitSetting{"core", "", "repositoryformatversion", "0"},
                  GitSetting{"core", "", "bare", "false"},
                  GitSetting{"remote", "origin", "url", "https://example.com/a.git"},
                  GitSetting{"remote", "origin", "fetch", "+refs/heads/*:refs/remotes/origin/*"},
                  GitSetting{"branch", "main", "remote", "origin"}));
}

TEST(ParseGitConfig, KnowsEverySpelling) {
  const auto settings = parse_git_config(
      "\xEF\xBB\xBF# comment\n[CORE] FsMonitor = \"a b\" ; comment\n"
      "[Section.Sub] key\n[a \"q\\\"\\\\x\"]\n\tk = one\\\n two\\n\"  \"#c\r\n");
  ASSERT_TRUE(settings);
  EXPECT_THAT(*settings, ElementsAre(GitSetting{"core", "", "fsmonitor", "a b"},
                                     GitSetting{"section", "sub", "key", std::nullopt},
                                     GitSetting{"a", "q\"\\x", "k", "one two\n  "}));
}

TEST(ParseGitConfig, RefusesWhatGitRefuses) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {"[core\nx=1"sv, "x = 1"sv, "[core]\nx = \"open"sv, "[core]\nx = \\q"sv, "[core]\n1x = 1"sv,
        "[core \"a]\nx=1"sv, "[core]\nx ; y"sv, "[]\nx=1"sv, "[core]\nx = a\0b"sv,
        "[core \"a\" ]\nx=1"sv})
    EXPECT_FALSE(parse_git_config(text)) << text;
  EXPECT_TRUE(parse_git_config("[core]\nx = 1"));
  EXPECT_TRUE(parse_git_config(""));
}

TEST(LastValue, TakesTheLastOne) {
  const auto settings = parse_git_config("[user]\nname = a\n[user]\nname = b\nflag\n");
  EXPECT_EQ(last_value(*settings, "user", "", "name"), "b");
  EXPECT_EQ(last_value(*settings, "user", "", "flag"), "true");
  EXPECT_EQ(last_value(*settings, "user", "x", "name"), std::nullopt);
}

// TH02, TH04 to TH07: everything that makes git start a program or read another file.
TEST(IsHarmless, KnowsNoSettingThatRunsSomething) {
  for (const char* text : {"[core]\nfsmonitor = x",
                           "[core]\nhooksPath = x",
                           "[core]\nsshCommand = x",
                           "[core]\npager = x",
                           "[core]\neditor = x",
                           "[core]\naskPass = x",
                           "[core]\nworktree = /",
                           "[core]\ngitProxy = x",
                           "[core]\nalternateRefsCommand = x",
                           "[core]\nattributesFile = x",
                           "[diff]\nexternal = x",
                           "[diff \"d\"]\ntextconv = x",
                           "[diff \"d\"]\ncommand = x",
                           "[filter \"f\"]\nclean = x",
                           "[filter \"f\"]\nsmudge = x",
                           "[filter \"f\"]\nprocess = x",
                           "[merge \"m\"]\ndriver = x",
                           "[gpg]\nprogram = x",
                           "[gpg \"ssh\"]\nprogram = x",
                           "[credential]\nhelper = x",
                           "[include]\npath = x",
                           "[includeIf \"gitdir:/\"]\npath = x",
                           "[alias]\nst = !x",
                           "[sequence]\neditor = x",
                           "[pager]\nstatus = x",
                           "[mergetool \"m\"]\ncmd = x",
                           "[difftool \"m\"]\ncmd = x",
                           "[uploadpack]\npackObjectsHook = x",
                           "[remote \"o\"]\nuploadpack = x",
                           "[remote \"o\"]\nreceivepack = x",
                           "[remote \"o\"]\nvcs = x",
                           "[remote \"o\"]\nproxy = x",
                           "[remote \"o\"]\nurl = ext::sh -c x",
                           "[remote \"o\"]\nurl = -oProxyCommand=x",
                           "[branch \"b\"]\nremote = ext::x",
                           "[submodule \"s\"]\nupdate = !x",
                           "[url \"ext::x\"]\ninsteadOf = https://",
                           "[http]\nproxy = x",
                           "[protocol]\nallow = always",
                           "[interactive]\ndiffFilter = x",
                           "[man]\nviewer = x",
                           "[browser \"b\"]\ncmd = x",
                           "[sendemail]\nsmtpServer = /x",
                           "[init]\ntemplateDir = x",
                           "[trailer \"t\"]\ncommand = x",
                           "[core \"x\"]\nbare = true",
                           "[unknown]\nkey = x"}) {
    const auto settings = parse_git_config(text);
    ASSERT_TRUE(settings) << text;
    ASSERT_EQ(settings->size(), 1U);
    EXPECT_FALSE(is_harmless(settings->front())) << text;
  }
}

TEST(IsHarmless, KeepsWhatInitAndCloneWrite) {
  const auto settings = parse_git_config(
      "[core]\nrepositoryformatversion = 1\nfilemode = true\nbare = false\nlogallrefupdates = "
      "true\n"
      "ignorecase = true\nprecomposeunicode = true\nsymlinks = false\n"
      "[extensions]\nobjectformat = sha256\npartialclone = origin\n"
      "[remote \"origin\"]\nurl = git@example.com:a/b.git\nfetch = +refs/heads/*:refs/x/*\n"
      "promisor = true\npartialclonefilter = blob:none\n"
      "[branch \"main\"]\nremote = origin\nmerge = refs/heads/main\n"
      "[submodule]\nactive = .\n[submodule \"s\"]\nurl = ../s\nactive = true\nupdate = rebase\n"
      "[user]\nname = a\nemail = b\n");
  ASSERT_TRUE(settings);
  for (const GitSetting& setting : *settings)
    EXPECT_TRUE(is_harmless(setting)) << setting.section << "." << setting.key;
}

RC_GTEST_PROP(WriteGitConfig, IsReadBackUnchanged, ()) {
  const auto text = rc::gen::container<std::string>(
      rc::gen::suchThat(rc::gen::arbitrary<char>(), [](char c) { return c != '\0' && c != '\r'; }));
  const auto word = rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('a', 'z')));
  std::vector<GitSetting> settings;
  const auto count = *rc::gen::inRange(0, 6);
  for (int i = 0; i < count; ++i) {
    GitSetting setting{*word, *text, *word, std::nullopt};
    std::erase(setting.subsection, '\n');
    if (*rc::gen::arbitrary<bool>()) setting.value = *text;
    settings.push_back(setting);
  }
  const auto again = parse_git_config(write_git_config(settings));
  RC_ASSERT(again.has_value());
  RC_ASSERT(*again == settings);
}

RC_GTEST_PROP(ParseGitConfig, SurvivesAnyBytes, (const std::string& text)) {
  const auto settings = parse_git_config(text);
  if (settings)
    for (const GitSetting& setting : *settings) RC_ASSERT(!setting.section.empty());
}

}  // namespace
}  // namespace cordon
