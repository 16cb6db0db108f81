#include "policy/clamp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/net_rules.h"
#include "support/grant.h"
#include "support/missing_layers.h"

namespace cordon {
namespace {

using testing::grant;
using testing::paths;

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Because = Reduction::Because;

Grant baseline(std::string path, Grant::Source source) {
  Grant made = grant(std::move(path));
  made.written = source == Grant::Source::System ? "@system" : "@toolchains";
  made.source = source;
  return made;
}

Grant link(std::string lexical, std::string path) {
  Grant made = grant(std::move(path));
  made.written = lexical;
  made.lexical = std::move(lexical);
  return made;
}

std::vector<Grant> grants(std::initializer_list<const char*> paths) {
  std::vector<Grant> made;
  for (const char* path : paths) made.push_back(grant(path));
  return made;
}

Resolved request(std::vector<Grant> read, std::vector<Grant> write) {
  Resolved made;
  made.read = std::move(read);
  made.write = std::move(write);
  return made;
}

ResolvedCeiling ceiling(std::vector<Grant> read, std::vector<Grant> write) {
  ResolvedCeiling made;
  made.read = std::move(read);
  made.write = std::move(write);
  return made;
}

Clamped clamp_one(const Resolved& asked, const ResolvedCeiling& bound) {
  return *clamp(asked, std::span(&bound, 1));
}

Reduction reduction(std::string what, std::string asked, std::optional<std::string> got,
                    Because because) {
  return {std::move(what), std::move(asked), std::move(got), because};
}

TEST(Clamp, KeepsARequestAtOrBelowACeilingEntry) {
  const auto clamped = clamp_one(request(grants({"/r"}), grants({"/w/run-42/out"})),
                                 ceiling(grants({"/r"}), grants({"/w"})));
  EXPECT_THAT(paths(clamped.effective().read), ElementsAre("/r"));
  EXPECT_THAT(paths(clamped.effective().write), ElementsAre("/w/run-42/out"));
  EXPECT_THAT(clamped.reductions(), IsEmpty());
}

TEST(Clamp, DropsWhatIsOutsideAndSaysSo) {
  const auto clamped = clamp_one(request(grants({"/tmpsecret"}), grants({"/home/u"})),
                                 ceiling({}, grants({"/tmp"})));
  EXPECT_THAT(clamped.effective().read, IsEmpty());
  EXPECT_THAT(clamped.effective().write, IsEmpty());
  EXPECT_THAT(clamped.reductions(),
              ElementsAre(reduction("read", "/tmpsecret", std::nullopt, Because::OutsideCeiling),
                          reduction("write", "/home/u", std::nullopt, Because::OutsideCeiling)));
}

TEST(Clamp, NarrowsAnAncestorToWhatTheCeilingHasInside) {
  const auto clamped =
      clamp_one(request(grants({"/home/u"}), {}),
                ceiling(grants({"/home/u/Documents", "/home/u/Music", "/opt"}), {}));
  EXPECT_THAT(paths(clamped.effective().read), ElementsAre("/home/u/Documents", "/home/u/Music"));
  EXPECT_THAT(clamped.reductions(),
              ElementsAre(reduction("read", "/home/u", "/home/u/Documents, /home/u/Music",
                                    Because::Narrowed)));
}

TEST(Clamp, ReadsWhatTheCeilingLetsWrite) {
  const auto clamped = clamp_one(request(grants({"/w/file"}), {}), ceiling({}, grants({"/w"})));
  EXPECT_THAT(paths(clamped.effective().read), ElementsAre("/w/file"));
  EXPECT_THAT(clamped.effective().write, IsEmpty());
  EXPECT_THAT(clamped.reductions(), IsEmpty());
}

TEST(Clamp, TurnsAWriteIntoAReadWhereTheCeilingOnlyReads) {
  const auto clamped = clamp_one(request({}, grants({"/r/x"})), ceiling(grants({"/r"}), {}));
  EXPECT_THAT(paths(clamped.effective().read), ElementsAre("/r/x"));
  EXPECT_THAT(clamped.effective().write, IsEmpty());
  EXPECT_THAT(clamped.reductions(),
              ElementsAre(reduction("write", "/r/x", std::nullopt, Because::OutsideCeiling)));
}

TEST(Clamp, NeverWritesWhereACeilingHasAReadOnlyPartInside) {
  const auto clamped =
      clamp_one(request({}, grants({"/w"})), ceiling(grants({"/w/held"}), grants({"/w"})));
  EXPECT_THAT(paths(clamped.effective().write), ElementsAre("/w"));
  EXPECT_THAT(paths(clamped.effective().read), ElementsAre("/w/held"));
  EXPECT_THAT(clamped.reductions(),
              ElementsAre(reduction("write", "/w", "/w without /w/held", Because::Narrowed)));
}

TEST(Clamp, NamesASymlinkThatLeadsOutOfTheCeiling) {
  const auto escaped =
      clamp_one(request({link("/g/evil", "/secret")}, {link("/g/evil", "/secret")}),
                ceiling({}, grants({"/g"})));
  EXPECT_THAT(escaped.effective().read, IsEmpty());
  EXPECT_THAT(escaped.reductions(), ::testing::Contains(reduction("read", "/g/evil", std::nullopt,
                                                                  Because::SymlinkEscape)));
  const auto inside =
      clamp_one(request({link("/g/fine", "/g/real")}, {}), ceiling({}, grants({"/g"})));
  EXPECT_THAT(paths(inside.effective().read), ElementsAre("/g/real"));
  EXPECT_THAT(inside.reductions(), IsEmpty());
}

TEST(Clamp, DoesNotCallItAnEscapeWhenTheNameIsOutsideToo) {
  const auto clamped =
      clamp_one(request({link("/x/link", "/secret")}, {}), ceiling(grants({"/g"}), {}));
  EXPECT_THAT(clamped.reductions(),
              ElementsAre(reduction("read", "/x/link", std::nullopt, Because::OutsideCeiling)));
}

TEST(Clamp, MakesOnePathInBothListsReadOnlyAndReportsTheConflict) {
  const auto clamped = *clamp(request(grants({"/p"}), {link("/p-link", "/p")}), {});
  EXPECT_THAT(paths(clamped.effective().read), ElementsAre("/p"));
  EXPECT_THAT(clamped.effective().write, IsEmpty());
  EXPECT_THAT(clamped.reductions(),
              ElementsAre(reduction("write", "/p-link", "read-only", Because::Narrowed)));
}

TEST(Clamp, KeepsNestedRulesOfBothKinds) {
  const auto clamped = *clamp(request(grants({"/w/ro", "/r"}), grants({"/w", "/r/rw"})), {});
  EXPECT_THAT(paths(clamped.effective().read), ElementsAre("/r", "/w/ro"));
  EXPECT_THAT(paths(clamped.effective().write), ElementsAre("/r/rw", "/w"));
  EXPECT_THAT(clamped.reductions(), IsEmpty());
}

TEST(Clamp, NeverGrantsAWritableRootEvenIfACeilingDoes) {
  const auto clamped = clamp_one(request({}, grants({"/"})), ceiling({}, grants({"/"})));
  EXPECT_THAT(clamped.effective().write, IsEmpty());
  EXPECT_THAT(clamped.effective().read, IsEmpty());
  EXPECT_THAT(clamped.reductions(),
              ElementsAre(reduction("write", "/", std::nullopt, Because::Forbidden)));
}

TEST(Clamp, LetsTheRootBeRead) {
  const auto clamped = clamp_one(request(grants({"/"}), {}), ceiling(grants({"/"}), {}));
  EXPECT_THAT(paths(clamped.effective().read), ElementsAre("/"));
}

TEST(Clamp, ReportsAGroupOfBaselineEntriesOnce) {
  const auto toolchain = Grant::Source::Toolchain;
  const auto asked = request({baseline("/t/a", toolchain), baseline("/t/b", toolchain),
                              baseline("/t/c", toolchain), baseline("/usr", Grant::Source::System)},
                             {});
  const auto some = clamp_one(asked, ceiling(grants({"/t/a", "/t/b/lib"}), {}));
  EXPECT_THAT(paths(some.effective().read), ElementsAre("/t/a", "/t/b/lib"));
  EXPECT_THAT(some.reductions(),
              ElementsAre(reduction("read", "@system", std::nullopt, Because::OutsideCeiling),
                          reduction("read", "@toolchains", "2 of 3 paths", Because::Narrowed)));
  EXPECT_THAT(clamp_one(asked, ceiling(grants({"/"}), {})).reductions(), IsEmpty());
}

TEST(Clamp, DropsBaselineEntriesThatAnotherGrantCovers) {
  const auto clamped =
      *clamp(request({baseline("/p/.venv", Grant::Source::Toolchain)}, grants({"/p"})), {});
  EXPECT_THAT(clamped.effective().read, IsEmpty());
  EXPECT_THAT(paths(clamped.effective().write), ElementsAre("/p"));
  EXPECT_THAT(clamped.reductions(), IsEmpty());
}

TEST(Clamp, CountsEveryCeiling) {
  const std::vector both{ceiling(grants({"/a", "/b"}), {}), ceiling(grants({"/b", "/c"}), {})};
  const auto clamped = *clamp(request(grants({"/a", "/b", "/c"}), {}), both);
  EXPECT_THAT(paths(clamped.effective().read), ElementsAre("/b"));
}

TEST(Clamp, KeepsReductionsFoundWhileResolving) {
  Resolved asked;
  asked.reductions.push_back(reduction("read", "/gone", std::nullopt, Because::Nonexistent));
  EXPECT_EQ(clamp(asked, {})->reductions(), asked.reductions);
}

TEST(Clamp, AccumulatesDenies) {
  Resolved asked;
  asked.deny = {{".env", "", ".env"}};
  ResolvedCeiling bound;
  bound.deny = {{"**/.env", "", ".env"}, {"/p/k", "/p/k", ""}};
  const auto clamped = clamp_one(asked, bound);
  EXPECT_THAT(clamped.effective().deny,
              ElementsAre(DenyGlob{"**/.env", "", ".env"}, DenyGlob{"/p/k", "/p/k", ""}));
}

HostRule host(std::string_view text) { return parse_host_rule(text).value(); }

NetRules allowing(std::initializer_list<const char*> hosts) {
  NetRules net;
  net.mode = NetMode::Allow;
  for (const char* text : hosts) net.allow.push_back(host(text));
  return net;
}

Clamped clamp_net(const NetRules& asked, const NetRules& bound) {
  Resolved wanted;
  wanted.policy.net = asked;
  ResolvedCeiling most;
  most.ceiling.policy.net = bound;
  return clamp_one(wanted, most);
}

TEST(ClampNet, DropsHostsWhereTheCeilingHasNoNetwork) {
  const auto clamped = clamp_net(allowing({"a.org:443"}), NetRules{});
  EXPECT_EQ(clamped.effective().net, NetRules{});
  EXPECT_THAT(clamped.reductions(),
              ElementsAre(reduction("net", "allow", "none", Because::OutsideCeiling)));
}

TEST(ClampNet, IntersectsHostLists) {
  const auto clamped =
      clamp_net(allowing({"a.org", "*.b.org", "c.org"}), allowing({"a.org:443", "x.b.org"}));
  EXPECT_EQ(clamped.effective().net, allowing({"a.org:443", "x.b.org"}));
  EXPECT_THAT(clamped.reductions(),
              ElementsAre(reduction("allow", "a.org", "a.org:443", Because::Narrowed),
                          reduction("allow", "*.b.org", "x.b.org", Because::Narrowed),
                          reduction("allow", "c.org", std::nullopt, Because::OutsideCeiling)));
}

TEST(ClampNet, TakesTheListOfTheSideThatHasOne) {
  NetRules open;
  open.mode = share_the_hosts_network();
  const auto narrowed = clamp_net(open, allowing({"a.org"}));
  EXPECT_EQ(narrowed.effective().net, allowing({"a.org"}));
  EXPECT_THAT(narrowed.reductions(),
              ElementsAre(reduction("net", "open", "allow", Because::Narrowed)));
  const auto kept = clamp_net(allowing({"a.org"}), open);
  EXPECT_EQ(kept.effective().net, allowing({"a.org"}));
  EXPECT_THAT(kept.reductions(), IsEmpty());
}

TEST(ClampNet, AnEmptyAllowListAllowsNothing) {
  const auto clamped = clamp_net(allowing({"a.org"}), allowing({}));
  EXPECT_EQ(clamped.effective().net, allowing({}));
}

TEST(ClampNet, AccumulatesDenies) {
  NetRules asked = allowing({"*.b.org"});
  asked.deny = {host("x.b.org")};
  NetRules bound = allowing({"*.b.org"});
  bound.deny = {host("y.b.org:443")};
  EXPECT_THAT(clamp_net(asked, bound).effective().net.deny,
              ElementsAre(host("x.b.org"), host("y.b.org:443")));
}

Policy with_secret(std::optional<std::uint64_t> requests) {
  Policy policy;
  policy.net.mode = NetMode::Allow;
  HttpRule& rule = policy.net.http.emplace_back();
  rule.host = host("a.org:443");
  rule.secret = "key";
  SecretRule& secret = policy.secrets.emplace_back();
  secret.name = "key";
  secret.host = rule.host;
  secret.from = "env:KEY";
  secret.requests = requests;
  return policy;
}

TEST(ClampSecrets, OfSeveralDefinitionsTheSmallestBoundHolds) {
  Resolved asked;
  asked.policy = with_secret(9);
  std::vector<ResolvedCeiling> bounds(3);
  bounds[0].ceiling.policy = with_secret(std::nullopt);
  bounds[1].ceiling.policy = with_secret(4);
  bounds[2].ceiling.policy = with_secret(7);
  const auto narrowed = *clamp(asked, bounds);
  ASSERT_EQ(narrowed.effective().secrets.size(), 1U);
  EXPECT_EQ(narrowed.effective().secrets[0].requests, 4U);
  EXPECT_THAT(narrowed.reductions(),
              ElementsAre(reduction("secret", "key requests 9", "4", Because::Narrowed)));
  asked.policy = with_secret(3);
  const auto kept = *clamp(asked, bounds);
  EXPECT_EQ(kept.effective().secrets[0].requests, 3U);
  EXPECT_THAT(kept.reductions(), IsEmpty());
  asked.policy = with_secret(std::nullopt);
  EXPECT_EQ(clamp(asked, bounds)->effective().secrets[0].requests, 4U);
  // A bound makes no two definitions of two that differ in anything else.
  bounds[1].ceiling.policy.secrets[0].from = "env:OTHER";
  EXPECT_THAT(clamp(asked, bounds)->effective().secrets, IsEmpty());
}

TEST(ClampEnv, PermitsOnlyNamesACeilingListsOnceItListsAny) {
  Resolved asked;
  asked.policy.env.pass = {"LANG", "SECRET"};
  asked.policy.env.set = {{"CI", "1"}, {"EXTRA", "2"}};
  ResolvedCeiling bound;
  bound.ceiling.bounds_env = true;
  bound.ceiling.policy.env.pass = {"LANG"};
  bound.ceiling.policy.env.set = {{"CI", "0"}};
  const auto clamped = clamp_one(asked, bound);
  EXPECT_THAT(clamped.effective().env.pass, ElementsAre("LANG"));
  EXPECT_EQ(clamped.effective().env.set, (std::map<std::string, std::string>{{"CI", "1"}}));
  EXPECT_THAT(clamped.reductions(),
              ElementsAre(reduction("env", "SECRET", std::nullopt, Because::OutsideCeiling),
                          reduction("env", "EXTRA", std::nullopt, Because::OutsideCeiling)));
  bound.ceiling.bounds_env = false;
  EXPECT_EQ(clamp_one(asked, bound).effective().env, asked.policy.env);
}

TEST(ClampEnv, NeverLetsALoaderVariableThroughAndRecordsIt) {
  Resolved asked;
  asked.policy.env.pass = {"LD_LIBRARY_PATH"};
  asked.policy.env.set = {{"LD_PRELOAD", "/x.so"}, {"GLIBC_TUNABLES", "x"}};
  const auto clamped = *clamp(asked, {});
  EXPECT_EQ(clamped.effective().env, EnvRules{});
  EXPECT_THAT(clamped.reductions(),
              ElementsAre(reduction("env", "LD_LIBRARY_PATH", std::nullopt, Because::Forbidden),
                          reduction("env", "GLIBC_TUNABLES", std::nullopt, Because::Forbidden),
                          reduction("env", "LD_PRELOAD", std::nullopt, Because::Forbidden)));
}

TEST(ClampEnv, DropsNamesAndValuesThatWouldBeReadOtherwise) {
  Resolved asked;
  asked.policy.env.set = {{"A=B", "1"}, {"NUL", std::string("a\0b", 3)}, {"OK", "a=b"}};
  const auto clamped = *clamp(asked, {});
  EXPECT_EQ(clamped.effective().env.set, (std::map<std::string, std::string>{{"OK", "a=b"}}));
  EXPECT_THAT(clamped.reductions(),
              ElementsAre(reduction("env", "A=B", std::nullopt, Because::Malformed),
                          reduction("env", "NUL", std::nullopt, Because::Malformed)));
}

TEST(ClampLimits, TakeTheSmallerOfEach) {
  Resolved asked;
  asked.policy.limits.wall_ms = 120'000;
  asked.policy.limits.pids = 10;
  ResolvedCeiling bound;
  bound.ceiling.policy.limits.wall_ms = 30'000;
  bound.ceiling.policy.limits.pids = 100;
  bound.ceiling.policy.limits.memory = 1ULL << 30U;
  const auto clamped = clamp_one(asked, bound);
  EXPECT_EQ(clamped.effective().limits.wall_ms, 30'000U);
  EXPECT_EQ(clamped.effective().limits.pids, 10U);
  EXPECT_EQ(clamped.effective().limits.memory, 1ULL << 30U);
  EXPECT_THAT(clamped.reductions(),
              ElementsAre(reduction("limits.wall", "2m", "30s", Because::Narrowed)));
}

TEST(ClampView, TakesTheStricterHomeScratchAndCaches) {
  Resolved asked;
  asked.policy.fs.home = HomeMode::Persistent;
  asked.policy.fs.caches = true;
  asked.policy.fs.scratch = 1ULL << 30U;
  ResolvedCeiling bound;
  bound.ceiling.home = HomeMode::Private;
  bound.ceiling.caches = false;
  bound.ceiling.trust_tracked = false;
  bound.ceiling.policy.fs.scratch = 1ULL << 20U;
  const auto clamped = clamp_one(asked, bound);
  EXPECT_EQ(clamped.effective().home, HomeMode::Private);
  EXPECT_FALSE(clamped.effective().caches);
  EXPECT_FALSE(clamped.effective().trust_tracked);
  EXPECT_EQ(clamped.effective().scratch, 1ULL << 20U);
  EXPECT_THAT(clamped.reductions(),
              ElementsAre(reduction("scratch", "1G", "1M", Because::Narrowed),
                          reduction("home", "persistent", "private", Because::Narrowed),
                          reduction("caches", "true", std::nullopt, Because::OutsideCeiling)));
}

TEST(ClampView, StagesEveryRunOfACeilingThatSaysSo) {
  Resolved asked;
  ResolvedCeiling bound;
  bound.ceiling.mode = WriteMode::Staged;
  EXPECT_EQ(clamp_one(asked, bound).effective().mode, WriteMode::Staged);
  EXPECT_EQ(clamp_one(asked, bound).effective().stage, StageEnd::Auto);
  bound.ceiling.stage = StageEnd::Review;
  const auto clamped = clamp_one(asked, bound);
  EXPECT_EQ(clamped.effective().stage, StageEnd::Review);
  EXPECT_THAT(clamped.reductions(),
              ElementsAre(reduction("mode", "live", "staged", Because::Narrowed),
                          reduction("stage", "auto", "review", Because::Narrowed)));
}

TEST(ClampView, NeverMakesAStagedRunLive) {
  Resolved asked;
  asked.policy.fs.mode = WriteMode::Staged;
  asked.policy.fs.stage = StageEnd::Review;
  ResolvedCeiling bound;
  bound.ceiling.mode = WriteMode::Live;
  bound.ceiling.stage = StageEnd::Auto;
  const auto clamped = clamp_one(asked, bound);
  EXPECT_EQ(clamped.effective().mode, WriteMode::Staged);
  EXPECT_EQ(clamped.effective().stage, StageEnd::Review);
  EXPECT_THAT(clamped.reductions(), ElementsAre());
}

TEST(ClampView, RefusesAnOptionThatWouldApplyWhatIsToBeReviewed) {
  Resolved asked;
  asked.policy.fs.mode = WriteMode::Staged;
  asked.policy.options.stage = true;
  ResolvedCeiling bound;
  bound.ceiling.stage = StageEnd::Review;
  const std::vector<ResolvedCeiling> bounds{bound};
  const auto refused = clamp(asked, bounds);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().what, ::testing::HasSubstr("--stage=auto"));
  EXPECT_THAT(refused.error().hint, ::testing::HasSubstr("--stage=review"));
}

TEST(ClampView, IsNotBoundByWhatACeilingDoesNotMention) {
  Resolved asked;
  asked.policy.fs.home = HomeMode::Persistent;
  asked.policy.fs.caches = true;
  asked.policy.fs.scratch = 1ULL << 30U;
  const auto clamped = clamp_one(asked, ResolvedCeiling{});
  EXPECT_EQ(clamped.effective().home, HomeMode::Persistent);
  EXPECT_TRUE(clamped.effective().caches);
  EXPECT_EQ(clamped.effective().scratch, 1ULL << 30U);
  EXPECT_THAT(clamped.reductions(), IsEmpty());
}

TEST(ClampAgent, SharesALoginOnlyWhereTheCeilingSaysSoForThatAgent) {
  Resolved asked;
  asked.policy.agent = {"claude", hand_over_the_agents_login()};
  ResolvedCeiling bound;
  const auto refused = clamp_one(asked, bound);
  EXPECT_EQ(refused.effective().agent, (AgentRules{"claude", {}}));
  EXPECT_THAT(refused.reductions(), ElementsAre(reduction("share_login", "claude", std::nullopt,
                                                          Because::OutsideCeiling)));
  bound.ceiling.policy.agent = {"codex", hand_over_the_agents_login()};
  EXPECT_FALSE(clamp_one(asked, bound).effective().agent.share_login);
  for (const char* name : {"", "claude"}) {
    bound.ceiling.policy.agent = {name, hand_over_the_agents_login()};
    const auto shared = clamp_one(asked, bound);
    EXPECT_EQ(shared.effective().agent, asked.policy.agent);
    EXPECT_THAT(shared.reductions(), IsEmpty());
  }
}

TEST(ClampView, NeverAddsScratchThatWasNotAskedFor) {
  ResolvedCeiling bound;
  bound.ceiling.policy.fs.scratch = 1ULL << 20U;
  EXPECT_EQ(clamp_one(Resolved{}, bound).effective().scratch, std::nullopt);
}

ResolvedCeiling accepting(const std::vector<Layer>& missing, std::vector<Layer> required) {
  ResolvedCeiling made;
  made.ceiling.policy.require = {std::move(required), going_without(missing), {}};
  return made;
}

TEST(ClampLayers, RequireWhatAnyoneRequires) {
  Resolved asked;
  asked.policy.require.layers = {Layer::Seccomp};
  EXPECT_THAT(clamp_one(asked, accepting({}, {Layer::Cgroup, Layer::Seccomp})).effective().require,
              ElementsAre(Layer::Seccomp, Layer::Cgroup));
}

TEST(ClampLayers, MayBeMissingOnlyIfEveryCeilingAcceptsIt) {
  Resolved asked;
  asked.policy.require.accept_missing = {run_without(Layer::Seccomp)};
  EXPECT_THAT(clamp(asked, {})->effective().accept_missing, IsEmpty());
  EXPECT_THAT(clamp_one(asked, accepting({Layer::Landlock}, {})).effective().accept_missing,
              ElementsAre(Layer::Landlock));
  const std::vector both{accepting({Layer::Landlock}, {}), ResolvedCeiling{}};
  EXPECT_THAT(clamp(asked, both)->effective().accept_missing, IsEmpty());
}

TEST(ClampLayers, AreNotMissingWhereTheSameCeilingRequiresThem) {
  EXPECT_THAT(clamp_one(Resolved{}, accepting({Layer::Landlock}, {Layer::Landlock}))
                  .effective()
                  .accept_missing,
              IsEmpty());
}

ResolvedCeiling naming(std::vector<BackendKind> backends) {
  ResolvedCeiling made;
  made.ceiling.policy.require.backends = std::move(backends);
  return made;
}

TEST(ClampBackends, AreWhatEveryCeilingThatNamesSomeNames) {
  using enum BackendKind;
  EXPECT_EQ(clamp(Resolved{}, {})->effective().backends, std::nullopt);
  EXPECT_EQ(clamp_one(Resolved{}, ResolvedCeiling{}).effective().backends, std::nullopt);
  const std::vector all{naming({Landlock, Native, Bwrap}), ResolvedCeiling{},
                        naming({Bwrap, Landlock, Mxc})};
  EXPECT_THAT(*clamp(Resolved{}, all)->effective().backends, ElementsAre(Bwrap, Landlock));
  const std::vector apart{naming({Native}), naming({Bwrap})};
  EXPECT_THAT(*clamp(Resolved{}, apart)->effective().backends, IsEmpty());
}

TEST(ClampLayers, NeverDwindleToNothing) {
  const auto clamped =
      clamp_one(Resolved{}, accepting({Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                                       Layer::Capabilities, Layer::Cgroup},
                                      {}));
  EXPECT_THAT(clamped.effective().accept_missing,
              ElementsAre(Layer::Namespaces, Layer::Capabilities, Layer::Cgroup));
}

}  // namespace
}  // namespace cordon
