// What each reader refuses, with the place; what it keeps; what it reports as lost.
#include <gtest/gtest.h>

#include <algorithm>

#include "compat/convert.h"
#include "compat/dialect/test_access.h"
#include "compat/mxc/mxc_document.h"
#include "config/policy_document.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

using testing::plain_places;

Result<Imported> imported(Dialect dialect, const std::string& text,
                          std::vector<std::string> dropped = {}) {
  CORDON_TRY(document, read_json(text, "doc.json"));
  return import_policy(dialect, document, "doc.json", plain_places(), dropped);
}

// `rest` stands beside a process: ", \"network\": {}".
std::string mxc(const std::string& version, const std::string& rest = "",
                const std::string& process = "") {
  return R"({"version": ")" + version + R"(", "process": {"commandLine": "true")" + process + "}" +
         rest + "}";
}

bool lost(const Imported& imported, std::string_view key) {
  return std::any_of(imported.losses.begin(), imported.losses.end(),
                     [&](const DroppedKey& loss) { return loss.key == key; });
}

struct Case {
  std::string text;
  std::string complaint;  // empty: accepted
};

void check(Dialect dialect, const std::vector<Case>& cases,
           const std::vector<std::string>& dropped = {}) {
  for (const Case& one : cases) {
    SCOPED_TRACE(one.text);
    const auto result = imported(dialect, one.text, dropped);
    EXPECT_EQ(result.has_value(), one.complaint.empty())
        << (result ? "accepted" : result.error().what);
    if (result || one.complaint.empty()) continue;
    const std::string said = message(result.error()) + " " + result.error().hint;
    EXPECT_NE(said.find(one.complaint), std::string::npos) << said;
    const bool other = one.complaint.starts_with("containment");
    EXPECT_EQ(result.error().kind, other ? ErrorKind::Unsupported : ErrorKind::Policy);
    ASSERT_TRUE(result.error().place.has_value());
    EXPECT_GT(result.error().place->line, 0U);
    EXPECT_GT(result.error().place->column, 0U);
  }
}

TEST(MxcRead, VersionsByMajorAndMinor) {
  for (const char* good : {"0.4.0", "0.5.0-alpha", "0.6.0-alpha", "0.6.99", "0.7.0+x",
                           "0.8.0-alpha", "0.9.0-alpha", "1.0.0", "1.1.0-alpha"}) {
    EXPECT_TRUE(imported(Dialect::Mxc, mxc(good))) << good;
  }
  check(Dialect::Mxc, {{mxc("0.3.0"), "older than 0.4"},
                       {mxc("1.2.0"), "newer than 1.1"},
                       {mxc("2.0.0"), "newer than 1.1"},
                       {mxc("0.6"), "is not a version"},
                       {mxc("0.06.0"), "is not a version"},
                       {mxc("v0.6.0"), "is not a version"},
                       {mxc(""), "is not a version"},
                       {mxc("0.9.0"), "exactly"},
                       {mxc("1.0.0-alpha"), "exactly"},
                       {R"({"process": {"commandLine": "true"}})", ""},
                       {R"({"version": 1, "process": {"commandLine": "true"}})", "a string"}});
}

TEST(MxcRead, StrictnessOfEachVersion) {
  const std::string top = R"(, "bogus": 1)";
  const std::string nested = R"(, "filesystem": {"clearPolicyOnExit": true})";
  const std::string null = R"(, "network": null, "containerId": null)";
  const std::string both = R"(, "ui": {"clipboard": "readwrite"})";
  check(Dialect::Mxc,
        {{mxc("0.6.0", top), ""},
         {mxc("0.7.0", top), "unknown key \"bogus\""},
         {mxc("0.7.0", nested), ""},
         {mxc("0.8.0", nested), "unknown key \"clearPolicyOnExit\" in [filesystem]"},
         {mxc("0.8.0", null), ""},
         {mxc("1.0.0", null), "[network] must be a table"},
         {mxc("0.7.0", both), ""},
         {mxc("0.8.0", both), "\"readwrite\" is not a value"},
         {mxc("0.7.0", R"(, "$schema": "x", "_comment": 3)"), ""},
         {mxc("0.7.0", R"(, "keychainAccess": false)"), "unknown key \"keychainAccess\""}});
  EXPECT_TRUE(lost(*imported(Dialect::Mxc, mxc("0.6.0", top)), "bogus"));
  EXPECT_TRUE(lost(*imported(Dialect::Mxc, mxc("0.7.0", nested)), "filesystem.clearPolicyOnExit"));
}

TEST(MxcRead, KeychainIsRefusedWhereverItStands) {
  for (const char* rest :
       {R"(, "keychainAccess": true)",
        R"(, "experimental": {"seatbelt": {"keychainAccess": true}})",
        R"(, "seatbelt": {"keychainAccess": true})", R"(, "ui": {"keychainAccess": true})"}) {
    for (const char* version : {"0.4.0", "0.6.0", "0.8.0", "1.0.0"}) {
      check(Dialect::Mxc, {{mxc(version, rest), "\"keychainAccess\" is never granted"}});
    }
  }
  check(Dialect::Mxc,
        {{mxc("0.6.0", R"(, "experimental": {"seatbelt": {"keychainAccess": false}})"), ""}});
}

TEST(MxcRead, ProcessAndFiles) {
  check(
      Dialect::Mxc,
      {{R"({"version": "0.6.0"})", "missing key \"process\""},
       {R"({"process": {"commandLine": ""}})", "must not be empty"},
       {R"({"process": {"commandLine": "a\u0000b"}})", "NUL"},
       {R"({"process": {"commandLine": 1}})", "must be a string"},
       {mxc("0.6.0", "", R"(, "timeout": 499)"), "below 500 ms"},
       {mxc("0.6.0", "", R"(, "timeout": 500)"), ""},
       {mxc("0.8.0", "", R"(, "timeout": 1)"), ""},
       {mxc("0.8.0", "", R"(, "timeout": -1)"), "whole number"},
       {mxc("0.8.0", "", R"(, "timeout": 4294967296)"), "whole number"},
       {mxc("0.8.0", "", R"(, "timeout": 1.5)"), "whole number"},
       {mxc("0.6.0", "", R"(, "env": ["=x"])"), "is not a variable name"},
       {mxc("0.6.0", "", R"(, "env": ["LD_PRELOAD=x"])"), "loader"},
       {mxc("0.8.0", "", R"(, "inheritDefaultEnv": true)"), "came with version 0.9"},
       {mxc("0.6.0", "", R"(, "cwd": "here")"), "not absolute"},
       {mxc("0.6.0", R"(, "filesystem": {"readonlyPaths": ["usr"]})"), "not absolute"},
       {mxc("0.6.0", R"(, "filesystem": {"readonlyPaths": ["~/x"]})"), "not absolute"},
       {mxc("0.6.0", R"(, "filesystem": {"readonlyPaths": ["/a\"b"]})"), "quote"},
       {mxc("0.6.0", R"(, "filesystem": {"readonlyPaths": [""]})"), "not absolute"},
       {mxc("0.6.0", R"(, "filesystem": {"readwritePaths": ["/"]})"), "never writable"},
       {mxc("0.6.0", R"(, "filesystem": {"deniedPaths": ["/a/*"]})"), "wildcard"},
       {mxc("0.6.0", R"(, "filesystem": {"readwritePaths": "/a"})"), "list of strings"},
       {mxc("0.6.0", R"(, "containment": "lxc")"), "containment \"lxc\""},
       {mxc("0.6.0", R"(, "containment": "processcontainer")"), "containment \"processcontainer\""},
       {mxc("0.6.0", R"(, "lxc": {"distribution": "x"})"), "does not belong"},
       {mxc("0.6.0", R"(, "sandboxId": "iso:1")"), "\"sandboxId\""},
       {mxc("0.7.0", R"(, "phase": "exec")"), "\"phase\""}});
  const auto env = imported(
      Dialect::Mxc, mxc("0.6.0", "", R"(, "env": ["A=1", "NONE", "A=2"], "timeout": 1000)"));
  ASSERT_TRUE(env);
  EXPECT_EQ(env->policy.env.set.at("A"), "2");
  EXPECT_FALSE(env->policy.env.set.contains("TERM"));
  EXPECT_EQ(env->policy.limits.wall_ms, 1000U);
  EXPECT_TRUE(lost(*env, "process.env"));
  EXPECT_TRUE(imported(Dialect::Mxc, mxc("1.0.0"))->policy.env.set.contains("TERM"));
}

TEST(MxcRead, NetworkFormsOfEachEra) {
  const auto net = [](const std::string& inner) { return ", \"network\": {" + inner + "}"; };
  check(Dialect::Mxc,
        {{mxc("0.7.0", net(R"("egress": {"default": "deny"})")), "came with version 0.8"},
         {mxc("0.9.0-alpha", net(R"("defaultPolicy": "block")")), "ended with version 0.8"},
         {mxc("0.8.0", net(R"("defaultPolicy": "block", "egress": {})")), "stand beside"},
         {mxc("0.8.0", net(R"("egress": {"allow": [{"to": []}]})")), "not empty"},
         {mxc("0.8.0", net(R"("egress": {"allow": [{"to": [{"cidr": "a.example"}]}]})")),
          "not a range of addresses"},
         {mxc("0.8.0", net(R"("ingress": {"default": "allow"})")), "cannot be held"},
         {mxc("0.8.0", net(R"("ingress": {"hostLoopback": "allow"})")), "cannot be held"},
         {mxc("0.6.0", net(R"("allowedHosts": ["*.a.example"])")), "no wildcards"},
         {mxc("0.6.0", net(R"("allowedHosts": ["a.example:443"])")), "no ports"},
         {mxc("0.6.0", net(R"("defaultPolicy": "maybe")")), "is not a value"},
         {mxc("0.6.0", net(R"("proxy": {"localhost": 3128})")), "needs defaultPolicy"},
         {mxc("0.6.0", net(R"("defaultPolicy": "allow", "proxy": {"builtinTestServer": true})")),
          "tests of MXC"},
         {mxc("0.6.0", net(R"("defaultPolicy": "allow", "proxy": {"url": "http://u:p@h:1"})")),
          "is not the URL"},
         {mxc("0.8.0", R"(, "runtimeConfig": {"networkProxy": "http://127.evil.example:1"})"),
          "loopback"}});
  // Where MXC opens the network, a list is a list.
  const auto listed = imported(Dialect::Mxc, mxc("0.6.0", net(R"("allowedHosts": ["a.example"])")));
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->policy.net.mode, NetMode::Allow);
  EXPECT_EQ(imported(Dialect::Mxc, mxc("0.4.0"))->policy.net.mode, NetMode::None);
  const auto proxied =
      imported(Dialect::Mxc,
               mxc("1.0.0", R"(, "runtimeConfig": {"networkProxy": "http://127.0.0.1:3128"})"));
  ASSERT_TRUE(proxied);
  EXPECT_TRUE(decide_connect(proxied->policy.net, "127.0.0.1", 3128, {}).allowed);
  EXPECT_FALSE(decide_connect(proxied->policy.net, "127.0.0.1", 3129, {}).allowed);
  EXPECT_FALSE(decide_connect(proxied->policy.net, "192.0.2.1", 80, {}).allowed);
  EXPECT_EQ(proxied->policy.env.set.at("HTTPS_PROXY"), "http://127.0.0.1:3128");
}

std::string srt(const std::string& fs, const std::string& net = "", const std::string& top = "") {
  return R"({"network": {"allowedDomains": [], "deniedDomains": [])" + net +
         R"(}, "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": [])" + fs + "}" + top +
         "}";
}

TEST(SrtRead, RefusesWhatItCannotHold) {
  check(Dialect::Srt,
        {{srt(""), ""},
         {"{}", "missing key \"network\""},
         {R"({"network": {"allowedDomains": []}})", "missing key \"deniedDomains\""},
         {srt("", R"(, "allowedDomain": [])"), "unknown key \"allowedDomain\""},
         {srt("", R"(, "httpProxyPort": 1)"), "\"httpProxyPort\" cannot be held"},
         {srt("", R"(, "tlsTerminate": {})"), "\"tlsTerminate\" cannot be held"},
         {srt(R"(, "disabled": true)"), "takes every file rule away"},
         {srt("", "", R"(, "credentials": {"files": [{"path": "/k", "mode": "mask"}]})"), "mask"},
         {srt("", "", R"(, "bogus": 1)"), "unknown key \"bogus\""}});
  const auto lists = [](const std::string& write, const std::string& held) {
    return R"({"network": {"allowedDomains": ["*.a.example:443"], "deniedDomains": []},
        "filesystem": {"denyRead": ["~/.ssh", "/k/**/*.pem"], "allowWrite": [)" +
           write + R"(], "denyWrite": [)" + held + "]}}";
  };
  check(Dialect::Srt, {{lists(R"("/g*")", ""), "cannot be granted"},
                       {lists(R"("/")", ""), "never writable"},
                       {lists("", R"("/a/*.lock")"), "cannot be held"},
                       {lists(R"({"path": "/a*", "literal": true})", ""), "wildcard"}});
  const auto good = imported(Dialect::Srt, lists(R"(".", "/w/**")", R"("/w/held")"));
  ASSERT_TRUE(good) << good.error().what;
  EXPECT_EQ(good->policy.fs.write, (std::vector<PathRule>{{"/a/b", {}}, {"/w", {}}}));
  EXPECT_EQ(good->policy.fs.deny,
            (std::vector<PathRule>{{"/home/alex/.ssh", {}}, {"/k/**/*.pem", {}}}));
  EXPECT_TRUE(decide_connect(good->policy.net, "x.a.example", 443, {}).allowed);
  EXPECT_FALSE(decide_connect(good->policy.net, "a.example", 443, {}).allowed);
}

TEST(SrtRead, AVariableThatIsWithheldIsNotPassedOn) {
  const auto withheld = [](const std::string& name) {
    return srt("", "",
               R"(, "credentials": {"envVars": [{"name": ")" + name + R"(", "mode": "deny"}]})");
  };
  const auto before = imported(Dialect::Srt, srt(""));
  const auto after = imported(Dialect::Srt, withheld("LC_ALL"));
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->policy.env.pass.size(), after->policy.env.pass.size() + 1);
  EXPECT_EQ(std::ranges::count(after->policy.env.pass, "LC_ALL"), 0);
  check(Dialect::Srt, {{withheld("API_TOKEN"), ""},
                       {withheld("USER"), "\"USER\" cannot be withheld"},
                       {srt("", "", R"(, "credentials": {"envVars": [{"mode": "deny"}]})"),
                        "missing key \"name\""}});
}

TEST(SafeClawRead, LimitsAndRestrictions) {
  const auto doc = [](const std::string& allow, const std::string& rest = "") {
    return R"({"filesystem": {"allow": [)" + allow +
           R"(]}, "syscalls": {"allow": ["read"], "defaultDeny": true})" + rest + "}";
  };
  check(Dialect::SafeClaw,
        {{doc(""), ""},
         {R"({"syscalls": {}})", "missing key \"filesystem\""},
         {R"({"filesystem": {}})", "missing key \"syscalls\""},
         {R"({"filesystem": {}, "syscalls": {"defaultDeny": false}})", "can only be true"},
         {R"({"filesystem": {}, "syscalls": {"allow": ["rm -rf"]}})", "no system call"},
         {doc(R"({"path": "/a", "access": "all"})"), "is not a value"},
         {doc(R"({"path": "/a"})"), "needs \"path\" and \"access\""},
         {doc("", R"(, "network": "all")"), "is not a value"},
         {doc("", R"(, "network": {"allowedDomains": ["*"]})"), "*"},
         {doc("", R"(, "bogus": 1)"), "unknown key \"bogus\""}});
  std::string many = R"({"path": "/a", "access": "execute"})";
  for (int i = 0; i < 64; ++i) many += R"(, {"path": "/a", "access": "execute"})";
  check(Dialect::SafeClaw, {{doc(many), "more than 64"}});
  const auto refused = imported(Dialect::SafeClaw, doc(R"({"path": "/a", "access": "read"})"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().hint, "to give up these restrictions: --drop execute");
  const auto accepted =
      imported(Dialect::SafeClaw, doc(R"({"path": "/a", "access": "read"})"), {"execute"});
  ASSERT_TRUE(accepted);
  EXPECT_TRUE(lost(*accepted, "execute"));
}

TEST(Export, NamesEveryRestrictionAtOnce) {
  const Policy strict = make_preset("strict", {});
  const auto refused = export_policy(Dialect::Mxc, strict, plain_places(), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().hint,
            "to give up these restrictions: --drop "
            "fs.scratch,limits.memory,limits.pids,limits.files,limits.output_total");
  const std::vector<std::string> dropped{"fs.scratch", "limits", "env"};
  const auto unused = export_policy(Dialect::Mxc, strict, plain_places(), dropped);
  ASSERT_FALSE(unused);
  EXPECT_EQ(unused.error().kind, ErrorKind::Usage);
}

TEST(Export, MxcDocument) {
  Policy policy;
  policy.fs.read = {{"/opt/tool", {}}};
  policy.fs.write = {{"@cwd", {}}};
  policy.fs.deny = {{"~/secret", {}}};
  policy.net = {NetMode::Allow, {*parse_host_rule("10.1.0.0/16:5432")}, {}};
  policy.env.set = {{"CI", "1"}};
  policy.limits.wall_ms = 30'000;
  const std::vector<std::string> dropped{"fs.scratch"};
  const auto exported = export_policy(Dialect::Mxc, policy, plain_places(), dropped);
  ASSERT_TRUE(exported) << exported.error().what;
  EXPECT_EQ(write_json(exported->document, JsonStyle::Compact),
            R"({"version":"0.8.0-alpha","containment":"process",)"
            R"("process":{"commandLine":"true","env":["CI=1"],"timeout":30000},)"
            R"("filesystem":{"readwritePaths":["/a/b"],"readonlyPaths":["/opt/tool"],)"
            R"("deniedPaths":["/home/alex/secret"]},)"
            R"("network":{"egress":{"default":"deny","allow":[{"to":[{"cidr":"10.1.0.0/16"}],)"
            R"("ports":[{"protocol":"tcp","port":5432}]}]},)"
            R"("ingress":{"default":"deny","hostLoopback":"deny"}}})");
}

}  // namespace
}  // namespace cordon
