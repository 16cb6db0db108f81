#include "audit/redactor.h"

#include <gtest/gtest.h>

namespace cordon::audit {
namespace {

Caller somebody() {
  Caller caller;
  caller.home = "/home/u";
  caller.homes = {"/home/u", "/var/home/u"};
  caller.cwd = "/home/u/src/secret-project";
  caller.config_directory = "/home/u/.config/cordon";
  caller.state_directory = "/home/u/.local/state/cordon";
  return caller;
}

Key key_of(std::uint8_t byte) {
  Key key{};
  key.fill(byte);
  return key;
}

TEST(Redactor, ShowsOnlyDirectoriesThatTellNothing) {
  const Redactor redactor(key_of(1), somebody());
  EXPECT_EQ(redactor.path("/usr").text(), "/usr");
  EXPECT_EQ(redactor.path("/home/u/src/secret-project").text(), "@cwd");
  EXPECT_EQ(redactor.path("/home/u").text(), "@home");
  EXPECT_EQ(redactor.path("/var/home/u").text(), "@home");
  EXPECT_EQ(redactor.path("/home/u/.config/cordon").text(), "@config");
  EXPECT_EQ(redactor.path("/").text(), "/");
  EXPECT_TRUE(redactor.path("").empty());
}

TEST(Redactor, HidesEveryNameBelowThem) {
  const Redactor redactor(key_of(1), somebody());
  for (const char* path :
       {"/home/u/src/secret-project/x", "/home/u/secret", "/opt/secret", "/secret",
        "/usr/lib/secret/x", "/home/other-secret", "/homesecret", "/usr/../secret"}) {
    const std::string label = redactor.path(path).text();
    EXPECT_EQ(label.find("secret"), std::string::npos) << label;
    EXPECT_NE(label.find("/#"), std::string::npos) << label;
  }
  EXPECT_TRUE(redactor.path("/home/u/src/secret-project/x").text().starts_with("@cwd/#"));
  EXPECT_TRUE(redactor.path("/home/u/secret").text().starts_with("@home/#"));
  EXPECT_TRUE(redactor.path("/usr/lib/secret").text().starts_with("/usr/lib/#"));
  EXPECT_TRUE(redactor.path("/secret").text().starts_with("/#"));
}

TEST(Redactor, HashesOnePathAlikeFromEveryDirectory) {
  Caller elsewhere = somebody();
  elsewhere.cwd = "/tmp";
  const std::string a = Redactor(key_of(1), somebody()).path("/home/u/src/secret-project/x").text();
  const std::string b = Redactor(key_of(1), elsewhere).path("/home/u/src/secret-project/x").text();
  EXPECT_NE(a, b);
  EXPECT_EQ(a.substr(a.find('#')), b.substr(b.find('#')));
  EXPECT_EQ(a.substr(a.find('#') + 1), path_hash(key_of(1), "/home/u/src/secret-project/x"));
}

TEST(Redactor, HashesDependOnTheInstallation) {
  const std::vector<std::string> argv{"true"};
  const Redactor here(key_of(1), somebody());
  const Redactor there(key_of(2), somebody());
  EXPECT_EQ(here.argv(argv), here.argv(argv));
  EXPECT_NE(here.argv(argv), there.argv(argv));
  EXPECT_NE(here.path("/home/u/x"), there.path("/home/u/x"));
}

TEST(Redactor, TellsArgumentsApartByTheirBoundaries) {
  const Redactor redactor(key_of(1), somebody());
  const auto hash = [&](std::vector<std::string> argv) { return redactor.argv(argv); };
  EXPECT_NE(hash({"a", "b"}), hash({"ab"}));
  EXPECT_NE(hash({"a", "b"}), hash({"a b"}));
  EXPECT_NE(hash({"1:a"}), hash({"1:a", ""}));
  EXPECT_NE(hash({"a1:b"}), hash({"a", "b"}));
}

TEST(Redactor, KeepsPlainWordsAndHashesTheRest) {
  const Redactor redactor(key_of(1), somebody());
  EXPECT_EQ(redactor.word("toolu_01AbC-9").text(), "toolu_01AbC-9");
  for (const std::string& odd :
       {std::string("a b"), std::string("a/b"), std::string(65, 'a'), std::string("\x1b[31m"),
        std::string("é"), std::string("a\0b", 3)}) {
    EXPECT_TRUE(redactor.word(odd).text().starts_with("#")) << odd;
  }
}

TEST(Redactor, NamesGrantsBySourceAndNotByPlace) {
  const Redactor redactor(key_of(1), somebody());
  Effective effective;
  Grant grant;
  grant.path = "/home/u/.secret-toolchain";
  grant.source = Grant::Source::Toolchain;
  effective.read = {grant, grant};
  grant.path = somebody().cwd;
  grant.source = Grant::Source::Policy;
  effective.write = {grant};
  Action action;
  action.effective = &effective;
  const Pending pending = redactor.pending(action);
  ASSERT_EQ(pending.read.size(), 1U);
  EXPECT_EQ(pending.read[0].text(), "@toolchains");
  EXPECT_EQ(pending.write[0].text(), "@cwd");
}

TEST(Redactor, TurnsEveryEndIntoItsEnding) {
  const Redactor redactor(key_of(1), somebody());
  const auto ending = [&](End end) {
    Outcome outcome;
    outcome.end = std::move(end);
    return redactor.closing(outcome, {}).ending;
  };
  EXPECT_EQ(ending(Exited{0}), Ending::Success);
  EXPECT_EQ(ending(Exited{3}), Ending::Exit);
  EXPECT_EQ(ending(Signaled{9}), Ending::Signal);
  EXPECT_EQ(ending(TimedOut{5}), Ending::Timeout);
  EXPECT_EQ(ending(OverLimit{"oom"}), Ending::Limit);
  EXPECT_EQ(ending(Cancelled{0}), Ending::Cancelled);
}

TEST(Redactor, MarksACeilingByItsContent) {
  const Redactor redactor(key_of(1), somebody());
  Ceiling ceiling;
  ceiling.id = "/home/u/secret-ceiling.toml";
  const CeilingMark before = redactor.ceiling(ceiling);
  EXPECT_EQ(before.id.text().find("secret"), std::string::npos);
  ceiling.audit.on_failure = AuditFailure::Warn;
  EXPECT_NE(redactor.ceiling(ceiling).hash, before.hash);
  EXPECT_EQ(redactor.ceiling(ceiling).id, before.id);
  const CeilingMark warns = redactor.ceiling(ceiling);
  ceiling.ask.net = {HostRule{}};
  EXPECT_NE(redactor.ceiling(ceiling).hash, warns.hash);
  ceiling.id = "environment";
  EXPECT_EQ(redactor.ceiling(ceiling).id.text(), "environment");
}

TEST(Redactor, LabelsWhatAPersonApproved) {
  const Redactor redactor(key_of(1), somebody());
  Approval approval;
  approval.id = "g-0123456789abcdef";
  approval.path = "/srv";
  Effective effective;
  Action action;
  action.host = "secret.example.com:443";
  action.approved = std::span(&approval, 1);
  action.effective = &effective;
  EXPECT_TRUE(redactor.pending(action).resource.text().starts_with('#'));
  EXPECT_TRUE(redactor.pending(action).approvals.empty());
  effective.read.resize(1);
  effective.read.front().path = "/srv/part";
  ASSERT_EQ(redactor.pending(action).approvals.size(), 1U);
  EXPECT_EQ(redactor.pending(action).approvals.front().text(), "g-0123456789abcdef");
}

}  // namespace
}  // namespace cordon::audit
