#include "host/snapshot.h"

#include <gtest/gtest.h>

#include <string>

namespace cordon {
namespace {

constexpr std::string_view kOriginal =
    "[core]\n\tbare = false\n\tfsmonitor = /usr/bin/watcher\n"
    "[remote \"origin\"]\n\turl = https://example.com/a.git\n"
    "\tfetch = +refs/heads/*:refs/remotes/origin/*\n";

Stays judged(const std::string& added) {
  return which_stays(KeptPath::Form::GitConfig, kOriginal, std::string(kOriginal) + added);
}

TEST(WhichStays, WhatGitWritesInOrdinaryWorkStays) {
  for (const char* added :
       {"[branch \"topic\"]\n\tremote = origin\n\tmerge = refs/heads/topic\n",
        "[remote \"fork\"]\n\turl = git@example.com:me/a.git\n",
        "[remote \"fork\"]\n\turl = ssh://git@example.com/a.git\n\tpushurl = https://x.org/a\n",
        "[submodule \"lib\"]\n\turl = https://example.com/lib.git\n\tactive = true\n"})
    EXPECT_EQ(judged(added), Stays::Newer) << added;
}

TEST(WhichStays, WhatRunsOrLeadsElsewhereDoesNot) {
  for (const char* added :
       {"[core]\n\tfsmonitor = ./evil\n", "[core]\n\thooksPath = ./evil\n",
        "[alias]\n\tst = !evil\n", "[include]\n\tpath = evil\n", "[user]\n\tname = Somebody\n",
        "[url \"https://evil.example/\"]\n\tinsteadOf = https://example.com/\n",
        "[remote \"origin\"]\n\turl = https://evil.example/a.git\n",
        "[remote \"origin\"]\n\tpushurl = https://evil.example/a.git\n",
        "[remote \"fork\"]\n\turl = ext::sh -c evil\n", "[remote \"fork\"]\n\turl = ../evil\n",
        "[remote \"fork\"]\n\turl = /tmp/evil\n", "[remote \"fork\"]\n\turl = file:///tmp/evil\n",
        "[remote \"fork\"]\n\turl = -oProxyCommand=evil:x\n",
        "[remote \"fork\"]\n\turl = git@-oProxyCommand=evil:x\n",
        "[remote \"fork\"]\n\tuploadpack = evil\n", "[remote \"fork\"]\n\tvcs = evil\n",
        "[branch \"topic\"]\n\tremote = https://evil.example/a.git\n",
        "[submodule \"lib\"]\n\tupdate = checkout\n", "[broken\n"})
    EXPECT_EQ(judged(added), Stays::Original) << added;
}

TEST(WhichStays, NothingThatWasThereMayGoChangeOrMove) {
  const auto stays = [](std::string_view original, std::string_view newer) {
    return which_stays(KeptPath::Form::GitConfig, original, newer);
  };
  constexpr std::string_view kTwo = "[core]\n\thooksPath = a\n\thooksPath = b\n";
  EXPECT_EQ(stays(kTwo, kTwo), Stays::Newer);
  EXPECT_EQ(stays(kTwo, "[core]\n\thooksPath = b\n\thooksPath = a\n"), Stays::Original);
  EXPECT_EQ(stays(kTwo, "[core]\n\thooksPath = a\n"), Stays::Original);
  EXPECT_EQ(stays(kTwo, ""), Stays::Original);
  // Only the spelling changed.
  EXPECT_EQ(stays(kTwo, "# said\n[core]\nhooksPath=a\nhooksPath=b\n"), Stays::Newer);
}

TEST(WhichStays, OfOtherFilesNobodyCanTell) {
  EXPECT_EQ(which_stays(KeptPath::Form::File, "{}", "{ }"), Stays::Original);
  EXPECT_EQ(which_stays(KeptPath::Form::Tree, "", ""), Stays::Original);
}

}  // namespace
}  // namespace cordon
