#include "changes/config_write_back.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

constexpr std::string_view kBase =
    "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/a.git\n";

ConfigChange judged(const std::string& added) {
  const auto change = judge_config_change(kBase, std::string(kBase) + added);
  return change.value_or(ConfigChange{{}, {"unreadable"}});
}

TEST(ConfigWriteBack, WhatIsHarmlessAndNewIsWritten) {
  for (const char* added :
       {"[remote \"fork\"]\n\turl = https://example.com/b.git\n",
        "[remote \"fork\"]\n\tfetch = +refs/heads/*:refs/remotes/fork/*\n",
        "[branch \"a/b\"]\n\tremote = origin\n", "[branch \"a\"]\n\tmerge = refs/heads/a\n",
        "[branch \"a\"]\n\trebase = true\n", "[submodule \"l\"]\n\tactive = true\n"}) {
    const ConfigChange change = judged(added);
    EXPECT_EQ(change.written.size(), 1U) << added;
    EXPECT_TRUE(change.held.empty()) << added;
  }
}

TEST(ConfigWriteBack, EverythingElseIsHeldAndNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[remote \"fork\"]\n\turl = ext::evil\n", "remote.fork.url"},
      {"[remote \"fork\"]\n\turl = ssh://-oProxyCommand=evil/x\n", "remote.fork.url"},
      {"[remote \"fork\"]\n\tfetch = +refs/heads/*:refs/heads/*\n", "remote.fork.fetch"},
      {"[remote \"../x\"]\n\turl = https://example.com/b.git\n", "remote.../x.url"},
      {"[remote \"origin\"]\n\tpushurl = https://evil.example/\n", "remote.origin.pushurl"},
      {"[branch \"a\"]\n\tremote = https://evil.example/\n", "branch.a.remote"},
      {"[submodule \"l\"]\n\tupdate = !evil\n", "submodule.l.update"},
      {"[user]\n\temail = evil\n", "user.email"},
      {"[core]\n\tfsmonitor = evil\n", "core.fsmonitor"},
      {"[include]\n\tpath = evil\n", "include.path"},
  };
  for (const auto& [added, name] : cases) {
    const ConfigChange change = judged(added);
    EXPECT_TRUE(change.written.empty()) << added;
    EXPECT_EQ(change.held, std::vector<std::string>{name}) << added;
  }
}

TEST(ConfigWriteBack, OfASectionWithoutItsAddressNothingIsWritten) {
  const ConfigChange remote = judged(
      "[remote \"fork\"]\n\turl = ../b.git\n\tfetch = +refs/heads/*:refs/remotes/fork/*\n"
      "[branch \"a\"]\n\tremote = fork\n");
  EXPECT_EQ(remote.held, (std::vector<std::string>{"remote.fork.fetch", "remote.fork.url"}));
  ASSERT_EQ(remote.written.size(), 1U);
  EXPECT_EQ(setting_name(remote.written[0]), "branch.a.remote");
}

TEST(ConfigWriteBack, RemovedAndChangedSettingsAreNamed) {
  const auto removed = judge_config_change(kBase, "[core]\n\tbare = true\n");
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->held, (std::vector<std::string>{"core.bare", "remote.origin.url"}));
  EXPECT_FALSE(judge_config_change(kBase, "[core\n"));
}

}  // namespace
}  // namespace cordon
