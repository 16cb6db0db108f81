#include <gmock/gmock.h>
#include <pwd.h>

#include "base/path.h"
#include "host/test_tree.h"

namespace cordon {
namespace {

using ::testing::HasSubstr;
using testing::OrdinaryUser;
using testing::TestTree;

TEST(Canonicalize, ResolvesSymlinksOfTheExistingPart) {
  const TestTree tree;
  const Caller caller = tree.caller();
  tree.file("real/file");
  tree.link("alias", "real");
  const auto found = canonicalize(tree.at("alias/file"), "/", caller);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, tree.at("real/file"));
  EXPECT_EQ(found->lexical, tree.at("alias/file"));
  EXPECT_EQ(found->kind, FileKind::Regular);
  EXPECT_NE(found->id, FileId{});
}

TEST(Canonicalize, AppendsAMissingTailToTheResolvedPrefix) {
  const TestTree tree;
  tree.directory("real");
  tree.link("alias", "real");
  const auto found = canonicalize(tree.at("alias/a/b"), "/", tree.caller());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, tree.at("real/a/b"));
  EXPECT_EQ(found->kind, FileKind::Absent);
}

TEST(Canonicalize, FollowsADanglingLinkToWhereItWouldLead) {
  const TestTree tree;
  tree.link("dangling", "gone/file");
  const auto found = canonicalize(tree.at("dangling"), "/", tree.caller());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, tree.at("gone/file"));
  EXPECT_EQ(found->kind, FileKind::Absent);
}

// FS26: "a/.." means the parent of what a leads to, not the directory a lies in.
TEST(Canonicalize, ResolvesDotDotBehindASymlinkPhysically) {
  const TestTree tree;
  tree.file("deep/inner/x");
  tree.file("deep/secret");
  tree.file("secret");
  tree.link("a", "deep/inner");
  const auto existing = canonicalize(tree.at("a/../secret"), "/", tree.caller());
  ASSERT_TRUE(existing);
  EXPECT_EQ(existing->path, tree.at("deep/secret"));
  const auto missing = canonicalize(tree.at("a/../new"), "/", tree.caller());
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->path, tree.at("deep/new"));
  const auto plain = canonicalize(tree.at("deep/../secret"), "/", tree.caller());
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->path, tree.at("secret"));
}

TEST(Canonicalize, SeesThroughAliasesInProc) {
  const auto found = canonicalize("/proc/self/root/etc/passwd", "/", Caller{});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->path, "/etc/passwd");
}

// FS12: what cannot be resolved is never granted by its spelling.
TEST(Canonicalize, RefusesALoop) {
  const TestTree tree;
  tree.link("a", "b");
  tree.link("b", "a");
  tree.file("c");
  EXPECT_FALSE(canonicalize(tree.at("a"), "/", tree.caller()));
  EXPECT_FALSE(canonicalize(tree.at("a/missing"), "/", tree.caller()));
  EXPECT_TRUE(canonicalize(tree.at("c"), "/", tree.caller()));
}

TEST(Canonicalize, RefusesWhatMayNotBeReached) {
  const TestTree tree;
  const Caller caller = tree.caller();
  tree.file("closed/inner/file");
  ASSERT_EQ(::chmod(tree.root().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(tree.at("closed").c_str(), 0700), 0);
  if (::geteuid() != 0) {
    ASSERT_EQ(::chmod(tree.at("closed").c_str(), 0000), 0);
  }
  {
    const OrdinaryUser ordinary;
    const auto found = canonicalize(tree.at("closed/inner/file"), "/", caller);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().kind, ErrorKind::Policy);
    EXPECT_EQ(found.error().error_number, EACCES);
    EXPECT_FALSE(canonicalize(tree.at("closed/missing"), "/", caller));
  }
  ASSERT_EQ(::chmod(tree.at("closed").c_str(), 0755), 0);
  const OrdinaryUser ordinary;
  EXPECT_TRUE(canonicalize(tree.at("closed/inner/file"), "/", caller));
}

TEST(Canonicalize, RefusesDotDotBehindSomethingMissing) {
  const TestTree tree;
  EXPECT_FALSE(canonicalize(tree.at("missing/../../etc"), "/", tree.caller()));
}

TEST(Canonicalize, RefusesAFileUsedAsADirectory) {
  const TestTree tree;
  tree.file("plain");
  EXPECT_FALSE(canonicalize(tree.at("plain/below"), "/", tree.caller()));
}

TEST(Canonicalize, ExpandsHomeAndCwdAndRelativeEntries) {
  const TestTree tree;
  const Caller caller = tree.caller();
  tree.directory("home/x");
  tree.directory("policy/y");
  EXPECT_EQ(canonicalize("~", "/", caller)->path, caller.home);
  EXPECT_EQ(canonicalize("~/x", "/", caller)->path, tree.at("home/x"));
  EXPECT_EQ(canonicalize("@cwd", "/", caller)->path, caller.cwd);
  EXPECT_EQ(canonicalize("y", tree.at("policy"), caller)->path, tree.at("policy/y"));
  EXPECT_EQ(canonicalize("./y/", tree.at("policy"), caller)->path, tree.at("policy/y"));
}

TEST(Canonicalize, RefusesSpellingsThatMeanSomethingElse) {
  const TestTree tree;
  const Caller caller = tree.caller();
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {"~other"sv, "~/../x"sv, "@elsewhere"sv, ""sv, "/tmp/a\0b"sv}) {
    const auto found = canonicalize(text, "/", caller);
    ASSERT_FALSE(found) << text;
    EXPECT_EQ(found.error().kind, ErrorKind::Policy);
    EXPECT_FALSE(found.error().hint.empty());
  }
  EXPECT_FALSE(canonicalize("/" + std::string(5000, 'a'), "/", caller));
  EXPECT_FALSE(canonicalize("/tmp/" + std::string(300, 'a'), "/", caller));
}

TEST(Canonicalize, SaysThatAMissingPathDoesNotExist) {
  const TestTree tree;
  const auto found = canonicalize_existing(tree.at("gone"), "/", tree.caller());
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().what, HasSubstr("does not exist"));
  tree.file("here");
  EXPECT_TRUE(canonicalize_existing(tree.at("here"), "/", tree.caller()));
}

// FS29: a name is data; it appears in messages only escaped.
TEST(Canonicalize, EscapesControlCharactersInMessages) {
  const TestTree tree;
  const auto found = canonicalize_existing(tree.at("a\n\x1b[31mb"), "/", tree.caller());
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().what.find('\n'), std::string::npos);
  EXPECT_EQ(found.error().what.find('\x1b'), std::string::npos);
}

TEST(Canonicalize, FindsNamesWithControlCharacters) {
  const TestTree tree;
  const std::string path = tree.file("line\nbreak\x1b");
  EXPECT_EQ(canonicalize(path, "/", tree.caller())->path, path);
}

TEST(IdentifyCaller, KnowsThePhysicalDirectoryAndItsOwnBinary) {
  const auto caller = identify_caller();
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->cwd, std::filesystem::canonical(".").string());
  EXPECT_EQ(caller->executable, std::filesystem::canonical("/proc/self/exe").string());
  EXPECT_EQ(caller->uid, ::getuid());
  EXPECT_FALSE(caller->homes.empty());
  EXPECT_EQ(caller->home, caller->homes.front());
}

class Environment {
 public:
  Environment(const char* name, const char* value) : name_(name) {
    const char* old = ::getenv(name);
    if (old != nullptr) old_ = old;
    had_ = old != nullptr;
    value == nullptr ? ::unsetenv(name) : ::setenv(name, value, 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;
  ~Environment() { had_ ? ::setenv(name_, old_.c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::string old_;
  bool had_ = false;
};

// The home of the account these tests run as, by the library that identify_caller() does without;
// empty for a uid that has no account.
std::string account_home() {
  const passwd* account = ::getpwuid(::getuid());
  return account == nullptr ? std::string() : std::string(account->pw_dir);
}

TEST(IdentifyCaller, TakesTheAccountsHomeIfHomeIsUnset) {
  const Environment home("HOME", nullptr);
  const auto caller = identify_caller();
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->home, account_home());
}

TEST(IdentifyCaller, CountsBothHomes) {
  const TestTree tree;
  const std::string other = tree.directory("other");
  const Environment home("HOME", other.c_str());
  const auto caller = identify_caller();
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->home, other);
  EXPECT_EQ(caller->homes.size(), account_home().empty() ? 1U : 2U);
}

TEST(IdentifyCaller, IgnoresRelativeDirectoriesInTheEnvironment) {
  const TestTree tree;
  const std::string home = tree.directory("home");
  const Environment one("HOME", home.c_str());
  const Environment two("XDG_CONFIG_HOME", "relative");
  const Environment three("XDG_STATE_HOME", "/state");
  const Environment four("XDG_RUNTIME_DIR", nullptr);
  const auto caller = identify_caller();
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->config_directory, home + "/.config/cordon");
  EXPECT_EQ(caller->state_directory, "/state/cordon");
  EXPECT_EQ(caller->runtime_directory, "/state/cordon/run");
}

}  // namespace
}  // namespace cordon
