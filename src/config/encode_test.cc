#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "config/policy_document.h"
#include "policy/agents.h"
#include "policy/net_rules.h"
#include "support/node_compare.h"

namespace cordon {
namespace {

const std::string kBase = "/base";
using Number = std::optional<std::uint64_t>;

template <typename T>
rc::Gen<std::vector<T>> few(rc::Gen<T> element) {
  return rc::gen::mapcat(rc::gen::inRange<std::size_t>(0, 4), [element](std::size_t size) {
    return rc::gen::container<std::vector<T>>(size, element);
  });
}

rc::Gen<PathRule> path_rule() {
  return rc::gen::map(rc::gen::elementOf(std::vector<std::string>{
                          "/usr", "~", "~/x y", "@cwd", "rel/a", "/opt/\"quoted\"", "/back\\slash",
                          "**/*.pem", "/gr\xC3\xB6\xC3\x9F", "a#b", "'single'", "/x=[y]{z}"}),
                      [](const std::string& text) {
                        return PathRule{text, kBase};
                      });
}

rc::Gen<HostRule> host_rule() {
  return rc::gen::map(
      rc::gen::elementOf(std::vector<std::string>{
          "a.example.com", "*.example.com", "b.example.com:443", "c.example.com:8000-8099",
          "10.1.0.0/16:5432", "192.0.2.7", "[2001:db8::1]:443"}),
      [](const std::string& text) { return parse_host_rule(text).value(); });
}

rc::Gen<Number> maybe(const rc::Gen<std::uint64_t>& number) {
  return rc::gen::mapcat(rc::gen::arbitrary<bool>(), [number](bool present) {
    return present ? rc::gen::map(number, [](std::uint64_t n) { return Number(n); })
                   : rc::gen::just(Number());
  });
}

rc::Gen<Number> size() {
  return maybe(rc::gen::map(rc::gen::inRange<std::uint64_t>(1, 1ULL << 40U),
                            [](std::uint64_t n) { return n * 1024; }));
}
rc::Gen<Number> count(std::uint64_t most) {
  return maybe(rc::gen::inRange<std::uint64_t>(1, most + 1));
}

Limits generate_limits() {
  Limits limits;
  limits.wall_ms = *count(1ULL << 50U);
  limits.cpu_ms = *count(100'000'000);
  limits.memory = *size();
  limits.pids = *count(INT64_MAX);
  limits.cpus_milli = *count(65'536'000);
  limits.files = *count(1'000'000);
  limits.file_size = *size();
  limits.output = *size();
  limits.output_total = *size();
  limits.connections = *count(INT64_MAX);
  limits.sent = *size();
  limits.requests = *count(INT64_MAX);
  limits.request_traffic = *size();
  return limits;
}

Policy generate_policy(const std::string& file) {
  Policy policy;
  policy.name = file;
  policy.fs.read = *few(path_rule());
  policy.fs.write = *few(path_rule());
  policy.fs.deny = *few(path_rule());
  policy.fs.scratch = *size();
  policy.fs.home = *rc::gen::element(HomeMode::None, HomeMode::Private, HomeMode::Persistent);
  policy.fs.caches = *rc::gen::arbitrary<bool>();
  policy.fs.trust_tracked = *rc::gen::arbitrary<bool>();
  policy.fs.mode = *rc::gen::element(WriteMode::Live, WriteMode::Staged);
  policy.fs.stage = *rc::gen::element(StageEnd::Auto, StageEnd::Review);
  policy.net.mode = access_of(*rc::gen::element(NetMode::None, NetMode::Allow, NetMode::Open));
  if (policy.net.mode == NetMode::Allow) policy.net.allow = *few(host_rule());
  policy.net.deny = *few(host_rule());
  policy.env.pass = *few(rc::gen::element<std::string>("LANG", "TERM", "_x9"));
  for (const char* name : {"CI", "A_B", "z"}) {
    if (*rc::gen::arbitrary<bool>()) policy.env.set[name] = *generate_text();
  }
  policy.limits = generate_limits();
  policy.agent.name = *rc::gen::element<std::string>("", "claude", "codex", "copilot");
  const bool keeps_login = policy.agent.name == "claude" || policy.agent.name == "codex";
  if (keeps_login && *rc::gen::arbitrary<bool>()) {
    policy.agent.share_login = hand_over_the_agents_login();
  }
  policy.require.layers = *few(rc::gen::element(Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                                                Layer::Capabilities, Layer::Cgroup));
  return policy;
}

RC_GTEST_PROP(WriteToml, IsReadBackAsTheSamePolicy, ()) {
  const Policy policy = generate_policy("p.toml");
  const auto document = read_toml(write_toml(policy), "p.toml");
  RC_ASSERT(document.has_value());
  const auto decoded = decode_policy(*document, "p.toml", kBase, PresetHost{});
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == policy);
}

RC_GTEST_PROP(EncodePolicy, IsReadBackFromJsonAsTheSamePolicy, ()) {
  const Policy policy = generate_policy("p.json");
  const auto document = read_json(write_json(encode_policy(policy), JsonStyle::Pretty), "p.json");
  RC_ASSERT(document.has_value());
  const auto decoded = decode_policy(*document, "p.json", kBase, PresetHost{});
  RC_ASSERT(decoded.has_value());
  RC_ASSERT(*decoded == policy);
}

TEST(EncodePolicy, IsReadBackForEveryPreset) {
  std::vector<std::string> names(preset_names().begin(), preset_names().end());
  for (const AgentNeeds& agent : known_agents())
    names.push_back("agent:" + std::string(agent.name));
  for (const std::string& name : names) {
    const Policy preset = make_preset(name, PresetHost{(8ULL << 30U) + 12345});
    const auto document = read_toml(write_toml(preset), "p.toml");
    ASSERT_TRUE(document.has_value()) << write_toml(preset);
    auto decoded = decode_policy(*document, "p.toml", "", PresetHost{});
    ASSERT_TRUE(decoded.has_value()) << message(decoded.error());
    decoded->name = name;
    EXPECT_EQ(*decoded, preset) << write_toml(preset);
  }
}

TEST(WriteToml, WritesWhatAPersonWouldWrite) {
  Policy policy;
  policy.fs.read = {{"/opt", kBase}, {"~/x", kBase}};
  policy.fs.scratch = 512ULL << 20U;
  policy.net.mode = share_the_hosts_network();
  policy.env.set = {{"CI", "1"}, {"QUOTE", "a\"b\n"}};
  policy.limits.wall_ms = 30'000;
  policy.limits.cpus_milli = 2000;
  EXPECT_EQ(write_toml(policy), R"(version = 1

[fs]
read = ["/opt", "~/x"]
scratch = "512M"

[net]
mode = "open"

[env]
set = { CI = "1", QUOTE = "a\"b\n" }

[limits]
wall = "30s"
cpus = 2.0
)");
}

TEST(EncodePolicy, RoundsASizeNoDocumentCanHoldDown) {
  Policy policy;
  policy.limits.memory = 2 * 1024 + 1023;
  policy.limits.output = 5;
  const Node limits = *encode_policy(policy).find("limits");
  EXPECT_EQ(std::get<std::string>(limits.find("memory")->value), "2K");
  EXPECT_EQ(std::get<std::string>(limits.find("output")->value), "1K");
}

Grant grant(const std::string& path) {
  Grant made;
  made.written = "as written";
  made.path = path;
  return made;
}

Effective sample() {
  Effective effective;
  effective.name = "workspace";
  effective.read = {grant("/usr"), grant("/opt")};
  effective.write = {grant("/home/u/p")};
  effective.deny = {{".env", "", ".env"}, {"/x/*.pem", "/x", "*.pem"}, {"/y", "/y", ""}};
  effective.scratch = 1024;
  effective.net.mode = NetMode::Allow;
  effective.net.allow = {parse_host_rule("b.example.com:443").value(),
                         parse_host_rule("a.example.com:443").value()};
  effective.sockets = {grant("/run/b.sock"), grant("/run/a.sock")};
  effective.env.pass = {"TERM", "LANG"};
  effective.env.set = {{"CI", "1"}};
  effective.limits.wall_ms = 30'000;
  effective.require = {Layer::Seccomp, Layer::Landlock};
  effective.agent.name = "claude";
  return effective;
}

std::string canonical(const Effective& effective) {
  return write_json(encode_effective(effective), JsonStyle::Compact);
}

TEST(EncodeEffective, HoldsEveryKeyInOneOrder) {
  EXPECT_EQ(
      canonical(sample()),
      R"({"version":1,"fs":{"read":["/opt","/usr"],"write":["/home/u/p"],)"
      R"("deny":[{"anchor":null,"pattern":".env"},{"anchor":"/x","pattern":"*.pem"},)"
      R"({"anchor":"/y","pattern":null}],"scratch_bytes":1024,"home":"none","caches":false,"trust_tracked":true,"mode":"live","stage":"auto"},)"
      R"("net":{"mode":"allow","allow":["a.example.com:443","b.example.com:443"],"deny":[],"publish":[],)"
      R"("sockets":["/run/a.sock","/run/b.sock"],"ssh_agent":false},)"
      R"("env":{"pass":["LANG","TERM"],"set":{"CI":"1"}},)"
      R"("limits":{"wall_ms":30000,"cpu_ms":null,"memory_bytes":null,"pids":null,)"
      R"("cpus_milli":null,"files":null,"file_size_bytes":null,"output_bytes":null,)"
      R"("output_total_bytes":null,"connections":null,"sent_bytes":null},"require":{"layers":["landlock","seccomp"],)"
      R"("accept_missing":[]},"agent":{"name":"claude","share_login":false}})");
}

TEST(EncodeEffective, DoesNotDependOnTheOrderOfLists) {
  Effective turned = sample();
  std::reverse(turned.read.begin(), turned.read.end());
  std::reverse(turned.deny.begin(), turned.deny.end());
  std::reverse(turned.net.allow.begin(), turned.net.allow.end());
  std::reverse(turned.sockets.begin(), turned.sockets.end());
  std::reverse(turned.env.pass.begin(), turned.env.pass.end());
  std::reverse(turned.require.begin(), turned.require.end());
  turned.name = "another name";
  turned.read.push_back(turned.read.front());
  turned.read.back().written = "another spelling";
  EXPECT_EQ(canonical(turned), canonical(sample()));
}

TEST(EncodeEffective, ShowsEveryWidening) {
  using Change = void (*)(Effective&);
  const Change changes[] = {
      [](Effective& e) { e.read.push_back(grant("/srv")); },
      [](Effective& e) { e.write.push_back(grant("/srv")); },
      [](Effective& e) { e.deny.pop_back(); },
      [](Effective& e) {
        e.deny[1] = {"", "/x/*.pem", ""};
      },
      [](Effective& e) { e.scratch = 2048; },
      [](Effective& e) { e.scratch.reset(); },
      [](Effective& e) { e.home = HomeMode::Private; },
      [](Effective& e) { e.caches = true; },
      [](Effective& e) { e.trust_tracked = false; },
      [](Effective& e) { e.mode = WriteMode::Staged; },
      [](Effective& e) { e.stage = StageEnd::Review; },
      [](Effective& e) { e.net.mode = share_the_hosts_network(); },
      [](Effective& e) { e.net.allow.push_back(parse_host_rule("c.example.com").value()); },
      [](Effective& e) { e.net.allow[0] = parse_host_rule("b.example.com").value(); },
      [](Effective& e) { e.net.deny.push_back(parse_host_rule("c.example.com").value()); },
      [](Effective& e) { e.sockets.push_back(grant("/run/c.sock")); },
      [](Effective& e) { e.sockets.clear(); },
      [](Effective& e) { e.env.pass.push_back("X"); },
      [](Effective& e) { e.env.set["CI"] = "2"; },
      [](Effective& e) { e.limits.wall_ms.reset(); },
      [](Effective& e) { e.limits.cpu_ms = 1; },
      [](Effective& e) { e.limits.memory = 1; },
      [](Effective& e) { e.limits.pids = 1; },
      [](Effective& e) { e.limits.cpus_milli = 1; },
      [](Effective& e) { e.limits.files = 1; },
      [](Effective& e) { e.limits.file_size = 1; },
      [](Effective& e) { e.limits.output = 1; },
      [](Effective& e) { e.limits.output_total = 1; },
      [](Effective& e) { e.limits.connections = 1; },
      [](Effective& e) { e.limits.sent = 1; },
      [](Effective& e) { e.limits.requests = 1; },
      [](Effective& e) { e.limits.request_traffic = 1; },
      [](Effective& e) { e.secrets = {SecretRule{.name = "key"}}; },
      [](Effective& e) { e.secrets = {SecretRule{.name = "key", .requests = 1}}; },
      [](Effective& e) {
        e.net.publish = {{8080, 8080}};
      },
      [](Effective& e) {
        e.net.publish = {{8080, 80}};
      },
      [](Effective& e) { e.net.allow.push_back(parse_host_rule("10.1.2.3").value()); },
      [](Effective& e) { e.net.allow.push_back(parse_host_rule("10.1.2.3/32").value()); },
      [](Effective& e) { e.require.pop_back(); },
      [](Effective& e) { e.accept_missing.push_back(Layer::Landlock); },
      [](Effective& e) { e.backends = {{BackendKind::Bwrap}}; },
      [](Effective& e) { e.agent.name = "codex"; },
      [](Effective& e) { e.agent.share_login = hand_over_the_agents_login(); },
  };
  std::vector<std::string> seen{canonical(sample())};
  for (const Change change : changes) {
    Effective wider = sample();
    change(wider);
    seen.push_back(canonical(wider));
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

}  // namespace
}  // namespace cordon
