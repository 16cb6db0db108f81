#include "policy/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cordon {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::StartsWith;

Caller caller() {
  Caller made;
  made.user = "u";
  made.home = "/home/u";
  made.homes = {"/home/u"};
  made.environment = {{"PATH", "/home/u/.nvm/bin:/home/u/bin:.::/usr/bin"},
                      {"SHELL", "/usr/bin/zsh"},
                      {"LANG", "de_DE.UTF-8"},
                      {"SECRET_TOKEN", "hunter2"},
                      {"LD_PRELOAD", "/x.so"}};
  return made;
}

Grant grant(std::string path) {
  Grant made;
  made.path = std::move(path);
  return made;
}

TEST(Environment, IsExactlyTheBaselineWhenNothingIsPassed) {
  EXPECT_THAT(build_environment(Effective{}, caller(), "/"),
              ElementsAre("HOME=/", "LANG=C.UTF-8", "LOGNAME=u", "PATH=/usr/bin", "PWD=/",
                          "SHELL=/usr/bin/zsh", "TERM=dumb", "USER=u"));
}

TEST(Environment, PassesNamedVariablesThenSets) {
  Effective effective;
  effective.env.pass = {"LANG", "ABSENT"};
  effective.env.set = {{"CI", "1"}, {"TERM", "xterm"}};
  const auto made = build_environment(effective, caller(), "/p");
  EXPECT_THAT(made, Contains("LANG=de_DE.UTF-8"));
  EXPECT_THAT(made, Contains("CI=1"));
  EXPECT_THAT(made, Contains("TERM=xterm"));
  EXPECT_THAT(made, Contains("PWD=/p"));
  EXPECT_THAT(made, Not(Contains(StartsWith("ABSENT="))));
  EXPECT_THAT(made, Not(Contains(StartsWith("SECRET_TOKEN="))));
}

TEST(Environment, HoldsNoLoaderVariableWhateverThePolicySays) {
  Effective effective;
  effective.env.pass = {"LD_PRELOAD"};
  effective.env.set = {{"GLIBC_TUNABLES", "x"}, {"LD_AUDIT", "y"}};
  const auto made = build_environment(effective, caller(), "/");
  EXPECT_THAT(made, Not(Contains(StartsWith("LD_"))));
  EXPECT_THAT(made, Not(Contains(StartsWith("GLIBC_"))));
}

TEST(Environment, KeepsOnlyPathEntriesThatExistInside) {
  Effective effective;
  effective.read = {grant("/home/u/.nvm")};
  EXPECT_THAT(build_environment(effective, caller(), "/"),
              Contains("PATH=/home/u/.nvm/bin:/usr/bin"));
  Caller bare = caller();
  bare.environment["PATH"] = ".:relative";
  EXPECT_THAT(build_environment(effective, bare, "/"),
              Contains("PATH=/usr/local/bin:/usr/bin:/bin"));
  bare.environment.erase("PATH");
  EXPECT_THAT(build_environment(effective, bare, "/"),
              Contains("PATH=/usr/local/bin:/usr/bin:/bin"));
}

TEST(Environment, NamesTheHomeOnlyWhereItExistsInside) {
  Effective effective;
  effective.home = HomeMode::Private;
  EXPECT_THAT(build_environment(effective, caller(), "/"), Contains("HOME=/home/u"));
  effective.home = HomeMode::None;
  effective.write = {grant("/home/u/p")};
  EXPECT_THAT(build_environment(effective, caller(), "/"), Contains("HOME=/home/u"));
  effective.write = {grant("/srv/p")};
  EXPECT_THAT(build_environment(effective, caller(), "/"), Contains("HOME=/"));
}

TEST(Environment, NamesATemporaryDirectoryOnlyWhereOneIsWritable) {
  Effective effective;
  EXPECT_THAT(build_environment(effective, caller(), "/"), Not(Contains(StartsWith("TMPDIR="))));
  effective.scratch = 1024;
  EXPECT_THAT(build_environment(effective, caller(), "/"), Contains("TMPDIR=/tmp"));
}

TEST(Environment, TakesAShellOfTheSystemOnly) {
  Caller odd = caller();
  odd.environment["SHELL"] = "/home/u/bin/myshell";
  EXPECT_THAT(build_environment(Effective{}, odd, "/"), Contains("SHELL=/bin/sh"));
  odd.environment["SHELL"] = "/usr/bin/../../home/u/sh";
  EXPECT_THAT(build_environment(Effective{}, odd, "/"), Contains("SHELL=/bin/sh"));
}

TEST(LoaderVariables, AreThoseTheLoaderReads) {
  EXPECT_TRUE(is_loader_variable("LD_PRELOAD"));
  EXPECT_TRUE(is_loader_variable("LD_LIBRARY_PATH"));
  EXPECT_TRUE(is_loader_variable("GLIBC_TUNABLES"));
  EXPECT_FALSE(is_loader_variable("LDFLAGS"));
  EXPECT_FALSE(is_loader_variable("PATH"));
}

TEST(InjectionVariables, AreThoseThatMakeAProgramRunSomethingElse) {
  for (const char* name :
       {"LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "PYTHONSTARTUP", "PYTHONPATH", "NODE_OPTIONS",
        "BASH_ENV", "ENV", "IFS", "GIT_SSH_COMMAND", "PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS",
        "PROMPT_COMMAND", "PATH", "SSH_ASKPASS", "GCONV_PATH", "RES_OPTIONS"}) {
    EXPECT_TRUE(is_injection_variable(name)) << name;
  }
  for (const char* name : {"", "CI", "LANG", "TERM", "MY_PYTHON", "HOME", "NODE_ENV"}) {
    EXPECT_FALSE(is_injection_variable(name)) << name;
  }
}

TEST(SecretNames, SayThatTheValueIsASecret) {
  for (const char* name : {"GITHUB_TOKEN", "aws_secret_access_key", "Db_Password", "OPENAI_API_KEY",
                           "SIGNING_KEY", "GH_PAT", "GOOGLE_APPLICATION_CREDENTIALS", "DB_PASS",
                           "NPM_AUTH", "AWS_CREDS", "SESSION_COOKIE"}) {
    EXPECT_TRUE(is_secret_name(name)) << name;
  }
  for (const char* name :
       {"PATH", "KEYBOARD", "LANG", "HOME", "MONKEY", "GIT_AUTHOR_NAME", "BYPASS_CACHE"}) {
    EXPECT_FALSE(is_secret_name(name)) << name;
  }
}

TEST(VariableNames, AreLettersDigitsAndUnderscores) {
  for (const char* name : {"A", "_x", "LC_ALL", "a1"}) EXPECT_TRUE(is_valid_variable_name(name));
  for (const char* name : {"", "1A", "A=B", "A B", "BASH_FUNC_x%%", "\xC3\xA9", "A\n"}) {
    EXPECT_FALSE(is_valid_variable_name(name)) << name;
  }
}

TEST(BuildVariables, NameNoProgramAndNoSecret) {
  for (const std::string_view name : build_variables()) {
    EXPECT_FALSE(is_injection_variable(name)) << name;
    EXPECT_FALSE(is_secret_name(name)) << name;
    EXPECT_TRUE(is_valid_variable_name(name)) << name;
    EXPECT_TRUE(is_build_variable(name)) << name;
  }
  for (const char* name :
       {"MAKEFLAGS", "RUSTFLAGS", "GOFLAGS", "NODE_OPTIONS", "ASAN_OPTIONS", ""}) {
    EXPECT_FALSE(is_build_variable(name)) << name;
  }
}

TEST(BuildVariables, ALoginInAUrlIsSeenWhereverItStands) {
  for (const char* value : {"https://u:p@h", "-DX=http://t@h/ -O2", "a://b c://d@e", "x\ny://u@h",
                            "http://u:p/w@h", "://@"}) {
    EXPECT_TRUE(may_hold_login(value)) << value;
  }
  for (const char* value : {"", "a@b", "http://h/ a@b", "http:/u@h", "-I/x@y", "://"}) {
    EXPECT_FALSE(may_hold_login(value)) << value;
  }
}

}  // namespace
}  // namespace cordon
