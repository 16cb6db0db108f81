#include "plan/git_environment.h"

#include <gmock/gmock.h>

namespace cordon {
namespace {

using ::testing::ElementsAre;

TEST(GitEnvironment, TellsGitToCompareSizeAndTimeAlone) {
  std::vector<std::string> environment = {"PATH=/bin"};
  add_git_stat_settings(environment);
  EXPECT_THAT(environment,
              ElementsAre("PATH=/bin", "GIT_CONFIG_KEY_0=core.checkStat",
                          "GIT_CONFIG_VALUE_0=minimal", "GIT_CONFIG_KEY_1=core.trustctime",
                          "GIT_CONFIG_VALUE_1=false", "GIT_CONFIG_COUNT=2"));
}

TEST(GitEnvironment, KeepsTheSettingsThatAreThere) {
  std::vector<std::string> environment = {"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.name",
                                          "GIT_CONFIG_VALUE_0=Alex"};
  add_git_stat_settings(environment);
  EXPECT_THAT(environment,
              ElementsAre("GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=Alex",
                          "GIT_CONFIG_KEY_1=core.checkStat", "GIT_CONFIG_VALUE_1=minimal",
                          "GIT_CONFIG_KEY_2=core.trustctime", "GIT_CONFIG_VALUE_2=false",
                          "GIT_CONFIG_COUNT=3"));
}

TEST(GitEnvironment, LeavesANumberAloneThatGitRefuses) {
  for (const char* count : {"GIT_CONFIG_COUNT=x", "GIT_CONFIG_COUNT=", "GIT_CONFIG_COUNT=-1"}) {
    std::vector<std::string> environment = {count};
    add_git_stat_settings(environment);
    EXPECT_THAT(environment, ElementsAre(count));
  }
}

}  // namespace
}  // namespace cordon
