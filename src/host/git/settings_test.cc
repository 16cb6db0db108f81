#include "host/git/settings.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "host/git/program_files.h"

namespace cordon {
namespace {

GitSetting setting_of(const GitKey& key, std::string value) {
  const std::string name = key.scope == GitKey::Scope::Plain ? "" : "name";
  return {std::string(key.section), name, key.key == "*" ? "any" : std::string(key.key),
          std::move(value)};
}

TEST(GitKeys, HaveAReasonEachAndStandOnce) {
  std::set<std::string> names;
  for (const GitKey& key : git_keys()) {
    EXPECT_FALSE(key.reason.empty()) << key.section << "." << key.key;
    EXPECT_TRUE(names.insert(std::string(key.section) + "." + std::string(key.key)).second)
        << key.section << "." << key.key;
    EXPECT_EQ(find_git_key(setting_of(key, "x")), &key);
  }
}

// A new repository keeps only what is_harmless knows.
TEST(GitKeys, AreNeverHarmlessWithAProgram) {
  for (const GitKey& key : git_keys()) {
    const bool address = key.value == GitValue::Address;
    EXPECT_FALSE(is_harmless(setting_of(key, address ? "ext::./x" : "!./x")))
        << key.section << "." << key.key;
  }
}

TEST(GitKeys, LeaveDataAlone) {
  for (const auto& [section, key] : {std::pair{"core", "attributesfile"},
                                     {"core", "excludesfile"},
                                     {"blame", "ignorerevsfile"},
                                     {"commit", "template"},
                                     {"user", "name"}})
    EXPECT_EQ(find_git_key({section, "", key, "x"}), nullptr) << section << "." << key;
}

bool runs_nothing(std::string_view path, std::string_view content) {
  for (const GitFile& file : git_files())
    if (file.path == path) return file.runs_nothing(content);
  ADD_FAILURE() << path;
  return false;
}

TEST(GitFiles, MayBeWhatGitWritesItself) {
  for (const auto& [path, content] :
       {std::pair{"rebase-merge/git-rebase-todo", "pick 1234 work\nbreak\n# exec is a word\n"},
        {"rebase-merge/strategy", "ort\n"},
        {"rebase-merge/strategy_opts", " '--ours' '--find-renames=50'\n"},
        {"rebase-merge/strategy_opts", ""},
        {"sequencer/opts",
         "[options]\n\tsignoff = true\n\tstrategy = recursive\n"
         "\tstrategy-option = theirs\n\tmainline = 1\n"},
        {"rebase-merge/author-script",
         "GIT_AUTHOR_NAME='O'\\''Hara'\nGIT_AUTHOR_EMAIL='a@b'\n"
         "GIT_AUTHOR_DATE='@1 +0000'\n"},
        {"rebase-apply/apply-opt", "'-C3' '--whitespace=fix'\n"},
        {"BISECT_NAMES", " 'src' 'it'\\''s'\n"}})
    EXPECT_TRUE(runs_nothing(path, content)) << path << ": " << content;
}

TEST(GitFiles, AreTakenIfTheyStartAProgram) {
  for (const auto& [path, content] :
       {std::pair{"rebase-merge/git-rebase-todo", "exec x\n"},
        {"rebase-merge/git-rebase-todo", " \tx x\n"},
        {"rebase-merge/strategy", "planted/x\n"},
        {"rebase-merge/strategy", "unknown\n"},
        {"rebase-merge/strategy_opts", "'--exec=x'"},
        {"sequencer/opts", "[options]\n\tstrategy = planted/x\n"},
        {"sequencer/opts", "[include]\n\tpath = x\n"},
        {"sequencer/opts", "[options"},
        {"rebase-merge/author-script", "GIT_AUTHOR_NAME='a'; touch x\n"},
        {"rebase-merge/author-script", "PATH='x'\n"},
        {"rebase-apply/apply-opt", "'--directory=.git/hooks'"},
        {"BISECT_NAMES", "'a' $(touch x)\n"}})
    EXPECT_FALSE(runs_nothing(path, content)) << path << ": " << content;
}

}  // namespace
}  // namespace cordon
