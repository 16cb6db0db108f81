#include "host/caller.h"

#include <gmock/gmock.h>

#include "base/fd.h"
#include "host/test_tree.h"

namespace cordon {
namespace {

using ::testing::HasSubstr;
using testing::TestTree;

constexpr const char* kLogin = ".codex/auth.json";

// A host's login, and the private home it is to be copied to.
class AgentLogin : public ::testing::Test {
 protected:
  AgentLogin() : login_(tree_.file("home/.codex/auth.json", "TOKEN")) {
    EXPECT_EQ(::chmod(login_.c_str(), 0600), 0);
    home_ = Fd(::open(tree_.directory("private").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  Result<LoginCopy> copy() { return copy_login(kLogin, tree_.caller(), home_.get()); }
  void expect_refused(const char* why) {
    const auto copied = copy();
    ASSERT_FALSE(copied);
    EXPECT_EQ(copied.error().kind, ErrorKind::Policy);
    EXPECT_THAT(copied.error().what, HasSubstr(why));
    EXPECT_FALSE(tree_.exists("private/.codex/auth.json"));
  }

  const TestTree tree_;
  const std::string login_;
  Fd home_;
};

TEST_F(AgentLogin, IsCopiedOnceForTheOwnerAlone) {
  ASSERT_EQ(copy(), LoginCopy::Made);
  EXPECT_EQ(tree_.read("private/.codex/auth.json"), "TOKEN");
  struct stat status {};
  ASSERT_EQ(::stat(tree_.at("private/.codex/auth.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0600U);
  // The one inside was renewed meanwhile, and the host's is an older one.
  tree_.file("private/.codex/auth.json", "RENEWED");
  ASSERT_EQ(copy(), LoginCopy::Kept);
  EXPECT_EQ(tree_.read("private/.codex/auth.json"), "RENEWED");
  EXPECT_EQ(tree_.read("home/.codex/auth.json"), "TOKEN");
}

TEST_F(AgentLogin, IsNotReadThroughASymlink) {
  tree_.file("home/elsewhere/auth.json", "SECRET");
  ASSERT_EQ(::unlink(login_.c_str()), 0);
  tree_.link("home/.codex/auth.json", "../elsewhere/auth.json");
  expect_refused("symlink");
  ASSERT_EQ(::unlink(login_.c_str()), 0);
  ASSERT_EQ(::rmdir(tree_.at("home/.codex").c_str()), 0);
  tree_.link("home/.codex", "elsewhere");
  expect_refused("symlink");
}

TEST_F(AgentLogin, IsNothingButAFile) {
  ASSERT_EQ(::unlink(login_.c_str()), 0);
  expect_refused("cannot be opened");
  ASSERT_EQ(::mkfifo(login_.c_str(), 0600), 0);
  expect_refused("not a regular file");
  ASSERT_EQ(::unlink(login_.c_str()), 0);
  ASSERT_EQ(::mkdir(login_.c_str(), 0700), 0);
  expect_refused("not a regular file");
}

TEST_F(AgentLogin, IsSmall) {
  tree_.file("home/.codex/auth.json", std::string(65'536, 'x'));
  ASSERT_EQ(copy(), LoginCopy::Made);
  ASSERT_EQ(::unlink(tree_.at("private/.codex/auth.json").c_str()), 0);
  tree_.file("home/.codex/auth.json", std::string(64 * 1024 + 1, 'x'));
  expect_refused("larger than 64 KiB");
  tree_.file("home/.codex/auth.json", "");
  expect_refused("empty");
}

TEST_F(AgentLogin, IsTheCallersOwn) {
  ASSERT_EQ(::chmod(login_.c_str(), 0620), 0);
  expect_refused("others may write it");
  ASSERT_EQ(::chmod(login_.c_str(), 0600), 0);
  Caller other = tree_.caller();
  if (::getuid() == 0) {
    ASSERT_EQ(::chown(login_.c_str(), 1234, 1234), 0);
  } else {
    other.uid += 1;
  }
  const auto copied = copy_login(kLogin, other, home_.get());
  ASSERT_FALSE(copied);
  EXPECT_THAT(copied.error().what, HasSubstr("belongs to another user"));
}

// What lies in the private home was put there by contained code.
TEST_F(AgentLogin, IsNotWrittenWhereContainedCodeLed) {
  tree_.directory("outside");
  tree_.link("private/.codex", "../outside");
  const auto copied = copy();
  ASSERT_FALSE(copied);
  EXPECT_THAT(copied.error().what, HasSubstr("not a directory"));
  EXPECT_FALSE(tree_.exists("outside/auth.json"));
  ASSERT_EQ(::unlink(tree_.at("private/.codex").c_str()), 0);
  tree_.link("private/.codex/auth.json", "../../outside/auth.json");
  EXPECT_EQ(copy(), LoginCopy::Kept);
  EXPECT_FALSE(tree_.exists("outside/auth.json"));
}

KeptLogin kept(TestTree& tree, const char* agent, const char* file, const char* text) {
  const std::string path = tree.file(std::string("home/") + file, text);
  EXPECT_EQ(::chmod(path.c_str(), 0600), 0);
  return kept_login(*find_agent(agent), tree.caller());
}

TEST(KeptLogin, IsAStringOfTheAgentsOwnInItsFile) {
  constexpr const char* kClaude = ".claude/.credentials.json";
  TestTree tree;
  EXPECT_EQ(kept(tree, "claude", kClaude, R"({"claudeAiOauth": {"a": 1, "accessToken" : "t"}})"),
            KeptLogin::Usable);
  for (const char* text :
       {R"({"mcpOAuth": {"x": {"accessToken": "t"}}})", R"({"claudeAiOauth": {"accessToken": ""}})",
        R"({"claudeAiOauth": null, "x": {"accessToken": "t"}})",
        R"({"claudeAiOauth": {"accessToken": null}})", R"("claudeAiOauth")", ""}) {
    EXPECT_EQ(kept(tree, "claude", kClaude, text), KeptLogin::None) << text;
  }
  EXPECT_EQ(kept(tree, "codex", kLogin, R"({"OPENAI_API_KEY":"k"})"), KeptLogin::Usable);
  EXPECT_EQ(kept(tree, "codex", kLogin, R"({"OPENAI_API_KEY":null})"), KeptLogin::None);
  EXPECT_EQ(kept(tree, "gemini", ".gemini/oauth_creds.json", R"({"access_token":"t"})"),
            KeptLogin::None);
}

TEST(KeptLogin, IsNoneThatOthersMayWriteOrThatLiesElsewhere) {
  TestTree tree;
  constexpr const char* kText = R"({"OPENAI_API_KEY": "k"})";
  ASSERT_EQ(kept(tree, "codex", kLogin, kText), KeptLogin::Usable);
  Caller moved = tree.caller();
  moved.environment["CODEX_HOME"] = "/srv/codex";
  EXPECT_EQ(kept_login(*find_agent("codex"), moved), KeptLogin::None);
  ASSERT_EQ(::chmod(tree.at("home/.codex/auth.json").c_str(), 0620), 0);
  EXPECT_EQ(kept_login(*find_agent("codex"), tree.caller()), KeptLogin::None);
  ASSERT_EQ(::unlink(tree.at("home/.codex/auth.json").c_str()), 0);
  tree.file("home/elsewhere.json", kText);
  tree.link("home/.codex/auth.json", "../elsewhere.json");
  EXPECT_EQ(kept_login(*find_agent("codex"), tree.caller()), KeptLogin::None);
}

}  // namespace
}  // namespace cordon
