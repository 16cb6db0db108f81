// What becomes of sandbox-runtime's path lists on a made-up host with links and missing files.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/path.h"
#include "compat/convert.h"
#include "policy/decide.h"

namespace cordon {
namespace {

using Paths = std::vector<std::string>;

struct MadeUpHost {
  std::map<std::string, std::string> links;
  std::set<std::string> missing;
  std::map<std::string, Paths> names;
  std::string cwd = "/home/u/p";

  [[nodiscard]] std::string real(const std::string& path) const {
    std::string done;
    const std::string normal = normalize(path);
    for (const std::string_view name : components(normal)) {
      done = join(done.empty() ? "/" : done, name);
      if (const auto link = links.find(done); link != links.end()) done = link->second;
    }
    return done.empty() ? "/" : done;
  }
  [[nodiscard]] Places places() const {
    return {cwd, "/home/u",
            [this](const std::string& path) -> Result<std::string> { return real(path); },
            [this](const std::string& path) -> Result<bool> { return !missing.contains(path); },
            [this](const std::string& path) -> Result<Paths> {
              Paths found;
              for (const std::string& name : names.at(path)) found.push_back(join(path, name));
              return found;
            }};
  }
};

Node list(const Paths& paths) {
  NodeList nodes;
  for (const std::string& path : paths) nodes.emplace_back(path);
  return nodes;
}

struct Lists {
  Paths deny_read, allow_read, allow_write, deny_write, allowed, denied;
};

Result<Imported> imported(const MadeUpHost& host, const Lists& lists) {
  Node network;
  network.set("allowedDomains", list(lists.allowed)).set("deniedDomains", list(lists.denied));
  Node filesystem;
  filesystem.set("denyRead", list(lists.deny_read))
      .set("allowRead", list(lists.allow_read))
      .set("allowWrite", list(lists.allow_write))
      .set("denyWrite", list(lists.deny_write));
  Node document;
  document.set("network", std::move(network)).set("filesystem", std::move(filesystem));
  return import_policy(Dialect::Srt, document, "x.json", host.places(), {});
}

// Without what is held in every settings.
Paths texts(const std::vector<PathRule>& rules) {
  Paths paths;
  for (const PathRule& rule : rules) {
    if (!rule.text.ends_with("/.gitmodules")) paths.push_back(rule.text);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(SrtPaths, WhatIsOpenInsideADeniedPathIsGrantedAndTheRestIsNot) {
  MadeUpHost host;
  host.names = {{"/", {"home", "usr"}}, {"/home", {"u", "v"}}};
  const auto read = imported(
      host, {.deny_read = {"~", "~/p/keys"}, .allow_read = {"."}, .allow_write = {"./out"}});
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_EQ(texts(read->policy.fs.read), (Paths{"/home/u/p", "/home/v", "/tmp", "/usr"}));
  EXPECT_EQ(texts(read->policy.fs.write), (Paths{"/home/u/p/out"}));
  EXPECT_EQ(texts(read->policy.fs.deny), (Paths{"/home/u/p/keys"}));
}

TEST(SrtPaths, ADeniedPathInsideAWritableOneStaysDeniedAsAWhole) {
  const MadeUpHost host;
  const auto read = imported(
      host, {.deny_read = {"./keys"}, .allow_read = {"./keys/public"}, .allow_write = {"."}});
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_EQ(texts(read->policy.fs.read), (Paths{"/", "/tmp"}));
  EXPECT_EQ(texts(read->policy.fs.deny), (Paths{"/home/u/p/keys"}));
}

TEST(SrtPaths, AWritablePathIsNotMadeReadOnlyByBeingReadable) {
  const MadeUpHost host;
  const auto read = imported(host, {.allow_read = {".", "./docs"}, .allow_write = {"."}});
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_EQ(texts(read->policy.fs.read), (Paths{"/", "/tmp"}));
}

TEST(SrtPaths, LinksAreNotFollowedToGrants) {
  MadeUpHost host;
  host.links = {{"/home/u/p/docs", "/home/u/.ssh"}};
  const auto refused = imported(host, {.allow_write = {"./docs"}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("leads through a link"), std::string::npos);
  const auto read = imported(host, {.deny_read = {"/home/u/.ssh"}, .allow_read = {"./docs"}});
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_EQ(texts(read->policy.fs.read), (Paths{"/", "/tmp"}));
  EXPECT_EQ(texts(read->policy.fs.deny), (Paths{"/home/u/.ssh"}));
}

TEST(SrtPaths, WhatMustNotBeWrittenIsHeldWithItsDirectories) {
  MadeUpHost host;
  host.missing = {"/home/u/p/a/absent"};
  const auto read =
      imported(host, {.allow_write = {"."}, .deny_write = {"a/b/kept", "a/absent", "a/b/kept/x"}});
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_EQ(texts(read->policy.fs.read), (Paths{"/", "/home/u/p/a/b/kept", "/tmp"}));
  EXPECT_EQ(texts(read->policy.fs.write), (Paths{"/home/u/p", "/home/u/p/a", "/home/u/p/a/b"}));
  EXPECT_EQ(texts(read->policy.fs.deny), (Paths{"/home/u/p/a/absent"}));
}

TEST(SrtPaths, TheListOfSubmodulesIsHeld) {
  MadeUpHost host;
  host.missing = {"/home/u/q/.gitmodules"};
  const auto read = imported(host, {.allow_write = {".", "~/q"}});
  ASSERT_TRUE(read) << message(read.error());
  const auto holds = [](const std::vector<PathRule>& rules, const char* path) {
    return std::find(rules.begin(), rules.end(), PathRule{path, {}}) != rules.end();
  };
  EXPECT_TRUE(holds(read->policy.fs.read, "/home/u/p/.gitmodules"));
  EXPECT_TRUE(holds(read->policy.fs.deny, "/home/u/q/.gitmodules"));
  host.links = {{"/home/u/p/.gitmodules", "/home/u/private"}};
  const auto linked = imported(host, {.deny_read = {"/"}, .allow_write = {"."}});
  ASSERT_TRUE(linked) << message(linked.error());
  EXPECT_TRUE(linked->policy.fs.read.empty());
}

TEST(SrtPaths, ALinkThatCouldBeReplacedCannotBeHeld) {
  MadeUpHost host;
  host.links = {{"/home/u/p/a", "/srv/a"}};
  const auto refused = imported(host, {.allow_write = {"."}, .deny_write = {"a/kept"}});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("is a link in a writable path"), std::string::npos);
  EXPECT_TRUE(imported(host, {.allow_write = {"./out"}, .deny_write = {"a/kept"}}));
}

TEST(SrtPaths, RelativeSpellings) {
  const MadeUpHost host;
  const auto read = imported(host, {.allow_write = {"../q/./x//", "..//r", "~/z/**"}});
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_EQ(texts(read->policy.fs.write), (Paths{"/home/u/q/x", "/home/u/r", "/home/u/z"}));
  EXPECT_FALSE(imported(host, {.allow_write = {"q/../../x"}}));
}

TEST(SrtPaths, TheCallersTmpIsShownAndTemporaryFilesGoElsewhere) {
  MadeUpHost host;
  const auto open = imported(host, {});
  EXPECT_EQ(texts(open->policy.fs.read), (Paths{"/", "/tmp"}));
  EXPECT_EQ(open->policy.env.set.at("TMPDIR"), "/dev/shm");
  const auto writable = imported(host, {.allow_write = {"/tmp"}});
  EXPECT_EQ(texts(writable->policy.fs.read), (Paths{"/"}));
  EXPECT_FALSE(writable->policy.env.set.contains("TMPDIR"));
  const auto denied = imported(host, {.deny_read = {"/tmp"}});
  EXPECT_EQ(texts(denied->policy.fs.read), (Paths{"/"}));
  EXPECT_FALSE(denied->policy.env.set.contains("TMPDIR"));
  host.links = {{"/tmp", "/home/u/private"}};
  EXPECT_EQ(texts(imported(host, {})->policy.fs.read), (Paths{"/"}));
}

TEST(SrtPaths, WhereTheCallerStandsIsShownInTheHostsVarTmp) {
  MadeUpHost host;
  host.cwd = "/var/tmp/p";
  EXPECT_EQ(texts(imported(host, {})->policy.fs.read), (Paths{"/", "/tmp", "/var/tmp/p"}));
  EXPECT_EQ(texts(imported(host, {.deny_read = {"/var/tmp"}})->policy.fs.read),
            (Paths{"/", "/tmp"}));
  host.cwd = "/tmp/p";
  EXPECT_EQ(texts(imported(host, {})->policy.fs.read), (Paths{"/", "/tmp"}));
}

TEST(SrtPaths, OfTwoEntriesForOnePathTheOneThatOpensWins) {
  const MadeUpHost host;
  const auto read = imported(host, {.deny_read = {"~/x", "~/x/keys"}, .allow_read = {"~/x"}});
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_EQ(texts(read->policy.fs.deny), (Paths{"/home/u/x/keys"}));
  const auto whole = imported(host, {.deny_read = {"/"}, .allow_read = {"/"}});
  ASSERT_TRUE(whole) << message(whole.error());
  EXPECT_EQ(texts(whole->policy.fs.read), (Paths{"/", "/tmp"}));
  // A pattern is no such path.
  const auto pattern = imported(host, {.deny_read = {"~/*.pem"}, .allow_read = {"~/*.pem"}});
  ASSERT_TRUE(pattern) << message(pattern.error());
  EXPECT_EQ(texts(pattern->policy.fs.deny), (Paths{"/home/u/*.pem"}));
}

TEST(SrtPaths, WhatIsOpenedAgainInAWritablePathIsOnlyRead) {
  const MadeUpHost host;
  const auto read =
      imported(host, {.deny_read = {"a/keys"}, .allow_read = {"a/keys"}, .allow_write = {"."}});
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_EQ(texts(read->policy.fs.deny), (Paths{}));
  EXPECT_EQ(texts(read->policy.fs.read), (Paths{"/", "/home/u/p/a/keys", "/tmp"}));
  EXPECT_EQ(texts(read->policy.fs.write), (Paths{"/home/u/p", "/home/u/p/a"}));
}

TEST(SrtPaths, WhatEverySandboxHasOfItsOwnMayBeAskedFor) {
  const MadeUpHost host;
  const auto read = imported(host, {.allow_read = {"/dev", "/proc", "/dev/urandom"},
                                    .allow_write = {"/dev/null", "/dev/tty"}});
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_EQ(texts(read->policy.fs.read), (Paths{"/", "/tmp"}));
  EXPECT_EQ(texts(read->policy.fs.write), (Paths{}));
}

TEST(SrtHosts, ADenyOfAPortCountsForEveryHost) {
  const MadeUpHost host;
  const auto read = imported(host, {.allowed = {"203.0.113.7"}, .denied = {"*:22"}});
  ASSERT_TRUE(read) << message(read.error());
  EXPECT_TRUE(decide_connect(read->policy.net, "203.0.113.7", 443, {}).allowed);
  EXPECT_FALSE(decide_connect(read->policy.net, "203.0.113.7", 22, {}).allowed);
  EXPECT_FALSE(imported(host, {.denied = {"*:0"}}));
  EXPECT_FALSE(imported(host, {.allowed = {"*:443"}}));
}

}  // namespace
}  // namespace cordon
