#include "config/policy_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "policy/net_rules.h"

namespace cordon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::string_view kEveryKey = R"(
version = 1

[fs]
read  = ["/opt/toolchain", "~/.cargo/registry", "vendor"]
write = ["@cwd"]
deny  = [".env", "**/*.pem"]
scratch = "512M"
home = "persistent"
caches = true

[net]
mode  = "allow"
allow = ["packages.example.com:443", "*.github.com", "10.1.0.0/16:5432"]
deny  = ["gist.github.com"]
publish = ["8080", "9000:90"]
sockets = ["/run/db.sock", "~/x.sock"]

[env]
pass = ["LANG", "TERM"]
set  = { CI = "1" }

[limits]
wall = "30s"
cpu = "90s"
memory = "1G"
pids = 2048
cpus = 2.5
files = 256
file_size = "2G"
output = "10K"
output_total = "256M"
connections = 100
sent = "1M"
requests = 500
request_traffic = "64M"

[require]
layers = ["namespaces", "landlock", "seccomp", "capabilities", "cgroup"]

[agent]
name = "claude"
share_login = true
)";

constexpr std::string_view kEveryKeyAsJson = R"({
  "version": 1,
  "fs": { "read": ["/opt/toolchain", "~/.cargo/registry", "vendor"], "write": ["@cwd"],
          "deny": [".env", "**/*.pem"], "scratch": "512M", "home": "persistent", "caches": true },
  "net": { "mode": "allow",
           "allow": ["packages.example.com:443", "*.github.com", "10.1.0.0/16:5432"],
           "deny": ["gist.github.com"], "publish": ["8080", "9000:90"],
           "sockets": ["/run/db.sock", "~/x.sock"] },
  "env": { "pass": ["LANG", "TERM"], "set": { "CI": "1" } },
  "limits": { "wall": "30s", "cpu": "90s", "memory": "1G", "pids": 2048, "cpus": 2.5,
              "files": 256, "file_size": "2G", "output": "10K", "output_total": "256M",
              "connections": 100, "sent": "1M", "requests": 500, "request_traffic": "64M" },
  "require": { "layers": ["namespaces", "landlock", "seccomp", "capabilities", "cgroup"] },
  "agent": { "name": "claude", "share_login": true }
})";

HostRule host(std::string_view text) { return parse_host_rule(text).value(); }

Policy every_key(const std::string& file) {
  Policy policy;
  policy.name = file;
  policy.fs.read = {{"/opt/toolchain", "/p"}, {"~/.cargo/registry", "/p"}, {"vendor", "/p"}};
  policy.fs.write = {{"@cwd", "/p"}};
  policy.fs.deny = {{".env", "/p"}, {"**/*.pem", "/p"}};
  policy.fs.scratch = 512ULL << 20U;
  policy.fs.home = HomeMode::Persistent;
  policy.fs.caches = true;
  policy.net.mode = NetMode::Allow;
  policy.net.allow = {host("packages.example.com:443"), host("*.github.com"),
                      host("10.1.0.0/16:5432")};
  policy.net.deny = {host("gist.github.com")};
  policy.net.publish = {{8080, 8080}, {9000, 90}};
  policy.net.sockets = {{"/run/db.sock", "/p"}, {"~/x.sock", "/p"}};
  policy.env.pass = {"LANG", "TERM"};
  policy.env.set = {{"CI", "1"}};
  policy.agent = {"claude", hand_over_the_agents_login()};
  policy.limits = Limits{.wall_ms = 30'000,
                         .cpu_ms = 90'000,
                         .memory = 1ULL << 30U,
                         .pids = 2048,
                         .cpus_milli = 2500,
                         .files = 256,
                         .file_size = 2ULL << 30U,
                         .output = 10 * 1024,
                         .output_total = 256ULL << 20U,
                         .connections = 100,
                         .sent = 1ULL << 20U,
                         .requests = 500,
                         .request_traffic = 64ULL << 20U};
  policy.require.layers = {Layer::Namespaces, Layer::Landlock, Layer::Seccomp, Layer::Capabilities,
                           Layer::Cgroup};
  return policy;
}

Policy policy_of(std::string_view text, const std::string& file = "p.toml") {
  const auto document = read_document(text, file);
  EXPECT_TRUE(document.has_value()) << message(document.error());
  auto policy = decode_policy(*document, file, "/p", PresetHost{8ULL << 30U});
  EXPECT_TRUE(policy.has_value()) << message(policy.error());
  return policy.value();
}

Ceiling ceiling_of(std::string_view text) {
  const auto document = read_document(text, "c.toml");
  EXPECT_TRUE(document.has_value()) << message(document.error());
  auto ceiling = decode_ceiling(*document, "c.toml", "/etc/cordon");
  EXPECT_TRUE(ceiling.has_value()) << message(ceiling.error());
  return ceiling.value();
}

Error refusal(std::string_view text) {
  const auto document = read_document(text, "p.toml");
  EXPECT_TRUE(document.has_value()) << message(document.error());
  const auto policy = decode_policy(*document, "p.toml", "/p", PresetHost{});
  EXPECT_FALSE(policy.has_value()) << text;
  return policy ? Error{} : policy.error();
}

TEST(DecodePolicy, ReadsEveryKeyFromToml) { EXPECT_EQ(policy_of(kEveryKey), every_key("p.toml")); }

TEST(DecodePolicy, ReadsEveryKeyFromJsonAlike) {
  EXPECT_EQ(policy_of(kEveryKeyAsJson, "p.json"), every_key("p.json"));
}

TEST(DecodePolicy, StartsFromNothingWithoutExtends) {
  Policy nothing;
  nothing.name = "p.toml";
  EXPECT_EQ(policy_of("version = 1\n"), nothing);
  EXPECT_EQ(nothing.net.mode, NetMode::None);
}

TEST(DecodePolicy, StartsFromThePresetItExtends) {
  for (const std::string_view name : preset_names()) {
    Policy preset = make_preset(name, PresetHost{8ULL << 30U});
    preset.name = "p.toml";
    EXPECT_EQ(policy_of("version = 1\nextends = \"" + std::string(name) + "\"\n"), preset);
  }
}

TEST(DecodePolicy, AppendsListsAndReplacesScalarsOfItsPreset) {
  Policy expected = make_preset("workspace", PresetHost{8ULL << 30U});
  expected.name = "p.toml";
  expected.fs.read.push_back({"/opt", "/p"});
  expected.fs.write.push_back({"out", "/p"});
  expected.fs.deny.push_back({".env", "/p"});
  expected.fs.scratch = 1ULL << 20U;
  expected.fs.home = HomeMode::None;
  expected.fs.caches = true;
  expected.env.pass.push_back("EDITOR");
  std::erase(expected.env.pass, "CI");  // that of the preset: the value is set
  expected.env.set["CI"] = "1";
  expected.limits.wall_ms = 5000;
  expected.require.layers.push_back(Layer::Cgroup);
  EXPECT_EQ(policy_of(R"(
version = 1
extends = "workspace"
[fs]
read = ["/opt"]
write = ["out"]
deny = [".env"]
scratch = "1M"
home = "none"
caches = true
[env]
pass = ["EDITOR"]
set = { CI = "1" }
[limits]
wall = "5s"
[require]
layers = ["cgroup"]
)"),
            expected);
}

TEST(DecodePolicy, LetsADocumentOverrideAVariableOfItsPreset) {
  const Policy policy =
      policy_of("version = 1\nextends = \"workspace\"\n[env]\nset = { LANG = \"C\" }\n");
  EXPECT_EQ(policy.env.set.at("LANG"), "C");
  EXPECT_EQ(std::count(policy.env.pass.begin(), policy.env.pass.end(), "LANG"), 0);
}

TEST(DecodePolicy, TakesManyVariablesInTime) {
  std::string pass;
  std::string set;
  for (int i = 0; i < 30000; ++i) {
    pass.append("\"P").append(std::to_string(i)).append("\",");
    set.append(i == 0 ? "S" : ",S").append(std::to_string(i)).append("=\"\"");
  }
  const Policy policy =
      policy_of("version = 1\n[env]\npass = [" + pass + "]\nset = {" + set + "}\n");
  EXPECT_EQ(policy.env.pass.size(), 30000U);
  EXPECT_EQ(policy.env.set.size(), 30000U);
}

TEST(DecodePolicy, TakesAnAllowListWithoutAModeAsModeAllow) {
  const Policy policy = policy_of("version = 1\n[net]\nallow = [\"a.example.com\"]\n");
  EXPECT_EQ(policy.net.mode, NetMode::Allow);
}

TEST(DecodePolicy, TakesModeAllowWithAnEmptyListAsNoHostAtAll) {
  const Policy policy = policy_of("version = 1\n[net]\nmode = \"allow\"\nallow = []\n");
  EXPECT_EQ(policy.net.mode, NetMode::Allow);
  EXPECT_THAT(policy.net.allow, IsEmpty());
}

TEST(DecodePolicy, KeepsModeNoneWhereTheAllowListIsEmpty) {
  EXPECT_EQ(policy_of("version = 1\n[net]\nallow = []\n").net.mode, NetMode::None);
  EXPECT_EQ(policy_of("version = 1\n[net]\nmode = \"none\"\nallow = []\n").net.mode, NetMode::None);
}

TEST(DecodePolicy, TakesAwayTheNetworkOfItsPreset) {
  const Policy policy =
      policy_of("version = 1\nextends = \"agent\"\n[net]\nmode = \"none\"\ndeny = [\"a.b\"]\n");
  EXPECT_EQ(policy.net.mode, NetMode::None);
  EXPECT_THAT(policy.net.allow, IsEmpty());
  EXPECT_THAT(policy.net.deny, ElementsAre(host("a.b")));
}

TEST(DecodePolicy, PutsTheErrorOfAHostRuleAtItsPlace) {
  const Error error = refusal("version = 1\n[net]\nallow = [\"ok.example.com\", \"*\"]\n");
  EXPECT_EQ(error.kind, ErrorKind::Policy);
  EXPECT_EQ(error.place, (Place{"p.toml", 3, 28}));
  EXPECT_FALSE(error.what.empty());
}

// PL05: a field that is accepted silently is a limit its author only believes in.
TEST(DecodePolicy, RefusesAnUnknownFieldInEveryTableAndNamesTheNearest) {
  struct Misspelt {
    const char* table;
    const char* key;
    const char* nearest;
  };
  for (const Misspelt& row : {Misspelt{"fs", "reads", "read"},
                              {"fs", "scrach", "scratch"},
                              {"net", "alow", "allow"},
                              {"net", "denny", "deny"},
                              {"env", "sett", "set"},
                              {"limits", "mem0ry", "memory"},
                              {"limits", "output_totl", "output_total"},
                              {"require", "layer", "layers"}}) {
    const std::string table(row.table);
    const Error error = refusal("version = 1\n[" + table + "]\n" + row.key + " = \"x\"\n");
    EXPECT_EQ(error.what, "unknown key \"" + std::string(row.key) + "\" in [" + table + "]");
    EXPECT_EQ(error.hint, "did you mean \"" + std::string(row.nearest) + "\"?");
    EXPECT_EQ(error.place, (Place{"p.toml", 3, 1}));
  }
}

// PL16: no spelling of a limit may come to mean "no limit".
TEST(DecodePolicy, RefusesEveryLimitThatIsNotAPositiveQuantity) {
  for (const char* key : {"wall", "cpu", "memory", "pids", "cpus", "files", "file_size", "output",
                          "output_total", "connections", "sent", "requests", "request_traffic"}) {
    for (const char* value : {"0",
                              "-1",
                              "nan",
                              "-nan",
                              "inf",
                              "-inf",
                              "0.0",
                              "-0.0",
                              "1e300",
                              "\"unlimited\"",
                              "\"-1s\"",
                              "\"-1M\"",
                              "\"0\"",
                              "\"0s\"",
                              "\"0M\"",
                              "\"\"",
                              "\"1.5G\"",
                              "\"1e3s\"",
                              "\" 1s\"",
                              "\"1 M\"",
                              "\"+1M\"",
                              "\"18446744073709551616T\"",
                              "\"99999999999999999h\"",
                              "\"infinity\"",
                              "false",
                              "[]",
                              "{}"}) {
      const Error error =
          refusal("version = 1\n[limits]\n" + std::string(key) + " = " + value + "\n");
      EXPECT_EQ(error.kind, ErrorKind::Policy) << key << value;
      EXPECT_EQ(error.place,
                (Place{"p.toml", 3, static_cast<unsigned>(std::string(key).size()) + 4}))
          << key << value;
    }
  }
}

// PL17: what two readers could read differently is not read at all.
TEST(ReadDocument, RefusesWhatReadersDisagreeAbout) {
  const std::string deep(65, '[');
  for (const std::string& text :
       {std::string("version = 1\nversion = 1\n"), std::string("\xEF\xBB\xBFversion = 1\n"),
        std::string("version = 1\0\n", 13), "version = 1\nx = " + deep}) {
    EXPECT_FALSE(read_document(text, "p.toml").has_value()) << text;
  }
  for (const std::string& text :
       {std::string(R"({"version":1,"version":1})"), std::string("\xEF\xBB\xBF{\"version\":1}"),
        std::string("{\"version\":1}\0", 14), R"({"x":)" + deep}) {
    EXPECT_FALSE(read_document(text, "p.json").has_value()) << text;
  }
  EXPECT_TRUE(read_document("version = 1\n", "p.toml").has_value());
  EXPECT_TRUE(read_document(R"({"version":1})", "p.json").has_value());
}

TEST(ReadDocument, ChoosesTheLanguageBySuffix) {
  EXPECT_TRUE(read_document("{}", "a.json").has_value());
  EXPECT_FALSE(read_document("{}", "a.toml").has_value());
  EXPECT_TRUE(read_document("a = 1", "ceiling").has_value());
  EXPECT_FALSE(read_document("a = 1", "a.json").has_value());
}

TEST(DecodeCeiling, PermitsNothingWhereNothingIsSaid) {
  Ceiling expected;
  expected.id = "c.toml";
  expected.policy.name = "c.toml";
  EXPECT_EQ(ceiling_of("version = 1\n"), expected);
  EXPECT_TRUE(expected.bounds_net);
  EXPECT_EQ(expected.policy.net.mode, NetMode::None);
  EXPECT_FALSE(expected.bounds_env);
  EXPECT_EQ(expected.home, std::nullopt);
  EXPECT_EQ(expected.caches, std::nullopt);
}

TEST(DecodeCeiling, BoundsTheEnvironmentOnceTheTableIsThere) {
  EXPECT_TRUE(ceiling_of("version = 1\n[env]\n").bounds_env);
  EXPECT_TRUE(ceiling_of("version = 1\n[env]\npass = [\"LANG\"]\n").bounds_env);
}

TEST(DecodeCeiling, BoundsHomeAndCachesOnlyWhereTheyAreNamed) {
  const Ceiling both =
      ceiling_of("version = 1\n[fs]\nhome = \"private\"\ncaches = false\ntrust_tracked = false\n");
  EXPECT_EQ(both.home, HomeMode::Private);
  EXPECT_EQ(both.caches, false);
  EXPECT_EQ(both.trust_tracked, false);
  const Ceiling none = ceiling_of("version = 1\n[fs]\nread = [\"/\"]\n");
  EXPECT_EQ(none.home, std::nullopt);
  EXPECT_EQ(none.caches, std::nullopt);
  EXPECT_EQ(none.trust_tracked, std::nullopt);
}

TEST(DecodeCeiling, StagesWhatItWantsToReview) {
  const Ceiling review = ceiling_of("version = 1\n[fs]\nstage = \"review\"\n");
  EXPECT_EQ(review.mode, WriteMode::Staged);
  EXPECT_EQ(review.stage, StageEnd::Review);
  const Ceiling live = ceiling_of("version = 1\n[fs]\nmode = \"live\"\nstage = \"review\"\n");
  EXPECT_EQ(live.mode, WriteMode::Live);
  const Ceiling staged = ceiling_of("version = 1\n[fs]\nmode = \"staged\"\n");
  EXPECT_EQ(staged.mode, WriteMode::Staged);
  EXPECT_EQ(staged.stage, std::nullopt);
  EXPECT_EQ(ceiling_of("version = 1\n[fs]\nstage = \"auto\"\n").mode, std::nullopt);
}

TEST(DecodeCeiling, AcceptsTheRootForReadingAndMissingLayers) {
  const Ceiling ceiling =
      ceiling_of("version = 1\n[fs]\nread = [\"/\"]\n[require]\naccept_missing = [\"landlock\"]\n");
  EXPECT_THAT(ceiling.policy.fs.read, ElementsAre(PathRule{"/", "/etc/cordon"}));
  EXPECT_THAT(ceiling.policy.require.accept_missing, ElementsAre(Layer::Landlock));
}

TEST(DecodeCeiling, AddsAndReleasesProtectedNames) {
  const Ceiling ceiling = ceiling_of(
      "version = 1\n[protect]\nadd = [\"deploy.sh\", \"ci/run\"]\nrelease = [\".vscode\"]\n");
  EXPECT_THAT(ceiling.policy.protect.add, ElementsAre("deploy.sh", "ci/run"));
  EXPECT_THAT(ceiling.policy.protect.release, ElementsAre(".vscode"));
}

TEST(DecodeCeiling, NamesTheBackendsThatArePermitted) {
  const Ceiling ceiling =
      ceiling_of("version = 1\n[require]\nbackends = [\"bwrap\", \"native\"]\n");
  EXPECT_THAT(*ceiling.policy.require.backends,
              ElementsAre(BackendKind::Bwrap, BackendKind::Native));
  EXPECT_EQ(ceiling_of("version = 1\n").policy.require.backends, std::nullopt);
}

TEST(DecodeCeiling, ReadsWhatBecomesOfARunWithoutItsRecord) {
  EXPECT_EQ(ceiling_of("version = 1\n").audit.on_failure, AuditFailure::Deny);
  EXPECT_EQ(ceiling_of("version = 1\n[audit]\n").audit.on_failure, AuditFailure::Deny);
  for (const AuditFailure choice : {AuditFailure::Deny, AuditFailure::Buffer, AuditFailure::Warn}) {
    const std::string text =
        "version = 1\n[audit]\non_failure = \"" + std::string(name_of(choice)) + "\"\n";
    EXPECT_EQ(ceiling_of(text).audit.on_failure, choice);
  }
}

TEST(DecodeCeiling, ReadsHowMuchOfWhatRunsLeaveIsKept) {
  EXPECT_EQ(ceiling_of("version = 1\n[keep]\n").keep, KeepBounds{});
  const Ceiling ceiling = ceiling_of("version = 1\n[keep]\ndays = 30\nsize = \"2M\"\n");
  EXPECT_EQ(ceiling.keep, (KeepBounds{30, 2U << 20U}));
  EXPECT_EQ(ceiling.audit.keep, KeepBounds{});
  for (const char* bad : {"days = 0", "days = \"90\"", "size = \"0\"", "homes = 1"}) {
    const auto document = read_toml("version = 1\n[keep]\n" + std::string(bad) + "\n", "c.toml");
    ASSERT_TRUE(document.has_value());
    EXPECT_FALSE(decode_ceiling(*document, "c.toml", "/").has_value()) << bad;
  }
}

TEST(DecodeCeiling, ReadsHowMuchOfTheAuditLogIsKept) {
  EXPECT_EQ(ceiling_of("version = 1\n[audit]\n").audit.keep, KeepBounds{});
  const Ceiling ceiling = ceiling_of("version = 1\n[audit]\nkeep_days = 90\nkeep_size = \"2M\"\n");
  EXPECT_EQ(ceiling.audit.keep, (KeepBounds{90, 2U << 20U}));
  for (const char* bad : {"keep_days = 0", "keep_days = \"90\"", "keep_size = \"0\""}) {
    const auto document = read_toml("version = 1\n[audit]\n" + std::string(bad) + "\n", "c.toml");
    ASSERT_TRUE(document.has_value());
    EXPECT_FALSE(decode_ceiling(*document, "c.toml", "/").has_value()) << bad;
  }
}

TEST(DecodeCeiling, RefusesAnUnknownChoiceForTheAuditLog) {
  const auto document = read_toml("version = 1\n[audit]\non_failure = \"wran\"\n", "c.toml");
  ASSERT_TRUE(document.has_value());
  const auto ceiling = decode_ceiling(*document, "c.toml", "/");
  ASSERT_FALSE(ceiling.has_value());
  EXPECT_EQ(ceiling.error().hint, "did you mean \"warn\"?");
  EXPECT_EQ(ceiling.error().place->line, 3U);
}

TEST(DecodeCeiling, ReadsWhatAPersonMayApprove) {
  EXPECT_EQ(ceiling_of("version = 1\n").ask, AskRules{});
  EXPECT_EQ(ceiling_of("version = 1\n[ask]\n").ask, AskRules{});
  const Ceiling ceiling = ceiling_of(
      "version = 1\n[ask]\nread = [\"/srv\", \"notes\"]\nwrite = [\"~/out\"]\n"
      "net = [\"*.example.com:443\"]\nexpires = \"90m\"\n");
  EXPECT_THAT(ceiling.ask.read,
              ElementsAre(PathRule{"/srv", "/etc/cordon"}, PathRule{"notes", "/etc/cordon"}));
  EXPECT_THAT(ceiling.ask.write, ElementsAre(PathRule{"~/out", "/etc/cordon"}));
  EXPECT_THAT(ceiling.ask.net, ElementsAre(host("*.example.com:443")));
  EXPECT_EQ(ceiling.ask.expires_ms, 90U * 60 * 1000);
  // Nothing of it is permitted.
  EXPECT_EQ(ceiling.policy.fs, FsRules{});
  EXPECT_EQ(ceiling.policy.net, NetRules{});
  Node document(NodeMap{});
  document.set("version", 1).set("ask", encode_ask(ceiling.ask));
  EXPECT_EQ(decode_ceiling(document, "c.toml", "/etc/cordon")->ask, ceiling.ask);
}

TEST(DecodeCeiling, RefusesAnAskTableThatIsWrong) {
  const auto refused = [](const std::string& table) {
    const auto document = read_toml("version = 1\n[ask]\n" + table, "c.toml");
    EXPECT_TRUE(document.has_value());
    const auto ceiling = decode_ceiling(*document, "c.toml", "/");
    EXPECT_FALSE(ceiling.has_value()) << table;
    return ceiling ? Error{} : ceiling.error();
  };
  EXPECT_EQ(refused("reed = []\n").hint, "did you mean \"read\"?");
  EXPECT_EQ(refused("expires = \"25h\"\n").place->line, 3U);
  for (const char* table :
       {"read = \"/srv\"\n", "read = [\"~user\"]\n", "write = [\"/\"]\n", "write = [\"@system\"]\n",
        "net = [\"*\"]\n", "net = [\"*.com\"]\n", "net = \"open\"\n", "expires = 90\n",
        "expires = \"0s\"\n", "deny = []\n", "approved = []\n"}) {
    refused(table);
  }
}

TEST(DecodePolicy, RefusesAnAskTable) {
  for (const char* text : {"version = 1\n[ask]\nread = [\"/srv\"]\n", "version = 1\n[ask]\n"}) {
    EXPECT_EQ(refusal(text).what, "[ask] is for ceilings only");
  }
}

TEST(DecodePolicy, RefusesTheOperatorsChoiceForTheAuditLog) {
  for (const char* text :
       {"version = 1\n[audit]\non_failure = \"deny\"\n", "version = 1\n[audit]\n"}) {
    const auto document = read_toml(text, "p.toml");
    ASSERT_TRUE(document.has_value());
    const auto policy = decode_policy(*document, "p.toml", "/", {});
    ASSERT_FALSE(policy.has_value());
    EXPECT_EQ(policy.error().what, "[audit] is for ceilings only");
  }
}

}  // namespace
}  // namespace cordon
