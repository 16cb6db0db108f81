// Every key of an MXC document that takes something away is held or refused by name. The keys are
// those of the reader's own tables, so a new one has to be decided about here before it can be
// read.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "compat/convert.h"
#include "compat/dialect/test_access.h"
#include "compat/mxc/mxc_read.h"

namespace cordon {
namespace {

using testing::plain_places;
using testing::PolicyAccess;

using Held = std::function<bool(const Policy&, const PolicyAccess&)>;

// A member that takes something away, and how to tell that it is gone.
struct Narrowing {
  std::string member;  // of its table, as JSON
  Held held;
  std::string beside = {};  // it narrows only beside this, and is a grant otherwise
  std::string before = {};  // what the member is without what narrows; empty: nothing
};
struct Idle {
  std::string_view why;  // nothing is taken away by it
};

struct Decided {
  std::vector<Narrowing> narrowing;
  Idle idle;
};

const std::vector<std::string> kHosts{"127.0.0.1", "10.0.0.1", "192.0.2.1", "one.example",
                                      "2001:db8::1"};
const std::vector<std::string> kPaths{"/a", "/a/a", "/a/b", "/a/b/c", "/b", "/c"};
constexpr std::uint16_t kPort = 80;

bool reaches_nothing(const Policy&, const PolicyAccess& access) {
  for (const std::string& host : kHosts) {
    if (access.reaches(host, kPort)) return false;
  }
  return true;
}

Held unreached(std::string host) {
  return [host](const Policy&, const PolicyAccess& access) { return !access.reaches(host, kPort); };
}

// Whatever is inside has none of it, whoever asks.
bool always(const Policy&, const PolicyAccess&) { return true; }

// A rule of "egress.deny" with one member.
std::string rule(const std::string& member) { return R"("deny": [{)" + member + "}]"; }

// By table and key.
const std::map<std::pair<std::string_view, std::string_view>, Decided>& decisions() {
  static const std::map<std::pair<std::string_view, std::string_view>, Decided> kDecided{
      {{"", "$schema"}, {{}, {"a remark"}}},
      {{"", "_comment"}, {{}, {"a remark"}}},
      {{"", "version"}, {{}, {"every version is gone through"}}},
      {{"", "phase"}, {{}, {"refused: another kind of request"}}},
      {{"", "sandboxId"}, {{}, {"refused: another kind of request"}}},
      {{"", "correlationVector"}, {{}, {"refused: another kind of request"}}},
      {{"", "containerId"}, {{}, {"a name"}}},
      {{"", "containment"},
       {{{R"("containment": "microvm")", [](const auto&, const auto&) { return false; }}}, {}}},
      {{"", "process"}, {{}, {"a table of its own"}}},
      {{"", "lifecycle"}, {{}, {"a table of its own"}}},
      {{"", "appContainer"},
       {{{R"("appContainer": {"capabilities": []})",
          [](const auto&, const auto&) { return false; }}},
        {}}},
      {{"", "lxc"},
       {{{R"("lxc": {"distribution": "x"})", [](const auto&, const auto&) { return false; }}}, {}}},
      {{"", "filesystem"}, {{}, {"a table of its own"}}},
      {{"", "fallback"}, {{}, {"a table of its own"}}},
      {{"", "network"}, {{}, {"a table of its own"}}},
      {{"", "ui"}, {{}, {"a table of its own"}}},
      {{"", "processContainer"},
       {{{R"("processContainer": {"capabilities": []})",
          [](const auto&, const auto&) { return false; }}},
        {}}},
      {{"", "experimental"}, {{}, {"MXC applies it only if told to, and to other sandboxes"}}},
      {{"", "seatbelt"},
       {{{R"("seatbelt": {"guiAccess": false})", [](const auto&, const auto&) { return false; }}},
        {}}},
      {{"", "macos_sandbox"},
       {{{R"("macos_sandbox": {"guiAccess": false})",
          [](const auto&, const auto&) { return false; }}},
        {}}},
      {{"", "runtimeConfig"}, {{}, {"a table of its own"}}},
      {{"", "telemetry"}, {{{R"("telemetry": {"enabled": false})", always}}, {}}},
      {{"process", "commandLine"}, {{}, {"what is run"}}},
      {{"process", "cwd"}, {{}, {"where it starts; grants nothing"}}},
      {{"process", "env"},
       {{{R"("env": [])",
          [](const Policy& policy, const PolicyAccess&) {
            return policy.env.pass.empty() && policy.env.set.size() == 1;  // PATH
          }}},
        {}}},
      {{"process", "timeout"},
       {{{R"("timeout": 1500)",
          [](const Policy& policy, const PolicyAccess&) {
            return policy.limits.wall_ms == 1500U;
          }}},
        {}}},
      {{"process", "inheritDefaultEnv"},
       {{{R"("env": [], "inheritDefaultEnv": false)",
          [](const Policy& policy, const PolicyAccess&) {
            return !policy.env.set.contains("TERM");
          }}},
        {}}},
      {{"lifecycle", "destroyOnExit"}, {{{R"("destroyOnExit": true)", always}}, {}}},
      {{"lifecycle", "preservePolicy"}, {{{R"("preservePolicy": false)", always}}, {}}},
      {{"fallback", "allowDaclMutation"}, {{{R"("allowDaclMutation": false)", always}}, {}}},
      {{"ui", "disable"}, {{{R"("disable": true)", always}}, {}}},
      {{"ui", "clipboard"}, {{{R"("clipboard": "none")", always}}, {}}},
      {{"ui", "injection"}, {{{R"("injection": false)", always}}, {}}},
      {{"filesystem", "readwritePaths"}, {{}, {"a grant"}}},
      {{"filesystem", "readonlyPaths"},
       {{{R"("readonlyPaths": ["/a/b"])",
          [](const Policy&, const PolicyAccess& access) {
            return !access.may(Access::Write, "/a/b") && !access.may(Access::Write, "/a/b/x");
          }}},
        {}}},
      {{"filesystem", "deniedPaths"},
       {{{R"("deniedPaths": ["/a/b"])",
          [](const Policy&, const PolicyAccess& access) {
            return !access.may(Access::Read, "/a/b") && !access.may(Access::Read, "/a/b/x");
          }}},
        {}}},
      {{"network", "defaultPolicy"}, {{{R"("defaultPolicy": "block")", reaches_nothing}}, {}}},
      {{"network", "enforcementMode"},
       {{{R"("enforcementMode": "firewall")", always}, {R"("enforcementMode": "both")", always}},
        {}}},
      {{"network", "allowedHosts"},
       {{{R"("allowedHosts": ["10.0.0.1"])",
          [](const Policy& policy, const PolicyAccess& access) {
            return policy.net.mode != NetMode::Open && !access.reaches("192.0.2.1", kPort);
          },
          R"("defaultPolicy": "allow")"}},
        {}}},
      {{"network", "blockedHosts"},
       {{{R"("blockedHosts": ["10.0.0.0/8"])", unreached("10.0.0.1")},
         {R"("blockedHosts": ["127.0.0.1"])", unreached("127.0.0.1")}},
        {}}},
      {{"network", "allowLocalNetwork"},
       {{{R"("allowLocalNetwork": false)",
          [](const Policy& policy, const PolicyAccess& access) {
            return policy.net.mode != NetMode::Open && !access.reaches("127.0.0.1", kPort) &&
                   !access.reaches("localhost", kPort);
          }}},
        {}}},
      {{"network", "proxy"}, {{}, {"a table of its own"}}},
      {{"network", "egress"}, {{}, {"a table of its own"}}},
      {{"network", "ingress"}, {{}, {"a table of its own"}}},
      {{"network.proxy", "localhost"},
       {{{R"("localhost": 3128)",
          [](const Policy&, const PolicyAccess& access) {
            return !access.reaches("192.0.2.1", kPort) && !access.reaches("127.0.0.1", kPort);
          }}},
        {}}},
      {{"network.proxy", "url"}, {{{R"("url": "http://192.0.2.9:3128")", reaches_nothing}}, {}}},
      {{"network.proxy", "builtinTestServer"}, {{}, {"refused"}}},
      {{"network.egress", "default"}, {{{R"("default": "deny")", reaches_nothing}}, {}}},
      {{"network.egress", "allow"}, {{}, {"a grant"}}},
      {{"network.egress", "deny"}, {{{R"("deny": [{}])", reaches_nothing}}, {}}},
      {{"network.ingress", "default"}, {{{R"("default": "deny")", always}}, {}}},
      {{"network.ingress", "hostLoopback"},
       {{{R"("hostLoopback": "deny")", unreached("127.0.0.1")}}, {}}},
      {{"network.egress.rule", "to"},
       {{{rule(R"("to": [{"cidr": "192.0.2.0/24"}])"), unreached("192.0.2.1")}}, {}}},
      {{"network.egress.rule", "ports"},
       {{{rule(R"("ports": [{"port": 80}])"), reaches_nothing}}, {}}},
      {{"network.egress.rule.to", "cidr"},
       {{{rule(R"("to": [{"cidr": "10.0.0.0/8"}])"), unreached("10.0.0.1")}}, {}}},
      {{"network.egress.rule.to", "except"},
       {{{R"("default": "deny", "allow": [{"to": [{"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}]}])",
          unreached("10.0.0.1"),
          {},
          R"("default": "deny", "allow": [{"to": [{"cidr": "0.0.0.0/0"}]}])"}},
        {}}},
      {{"network.egress.rule.ports", "protocol"},
       {{{rule(R"("ports": [{"protocol": "any"}])"), reaches_nothing},
         {rule(R"("ports": [{"protocol": "tcp"}])"), reaches_nothing},
         {rule(R"("ports": [{"protocol": "udp"}])"), always},
         {rule(R"("ports": [{"protocol": "icmp"}])"), always}},
        {}}},
      {{"network.egress.rule.ports", "port"},
       {{{rule(R"("ports": [{"port": 80}])"), reaches_nothing}}, {}}},
      {{"network.egress.rule.ports", "endPort"},
       {{{rule(R"("ports": [{"port": 79, "endPort": 81}])"), reaches_nothing}}, {}}},
      {{"runtimeConfig", "networkProxy"}, {{}, {"a grant: egress denies all beside it"}}},
  };
  return kDecided;
}

// What a document may say besides, for the table that a key belongs to: members of that table.
std::vector<std::string> companions(std::string_view table) {
  if (table == "network") {
    return {"",
            R"("defaultPolicy": "allow")",
            R"("defaultPolicy": "block")",
            R"("defaultPolicy": "block", "allowedHosts": ["10.0.0.0/8", "127.0.0.1"])",
            R"("defaultPolicy": "allow", "allowedHosts": ["one.example", "192.0.2.1"])",
            R"("defaultPolicy": "allow", "allowedHosts": ["0.0.0.0/0"])",
            R"("defaultPolicy": "allow", "blockedHosts": ["192.0.2.1"])",
            R"("defaultPolicy": "allow", "proxy": {"localhost": 3128})"};
  }
  if (table.starts_with("network.egress")) {
    return {R"("default": "allow")",
            R"("default": "deny", "allow": [{"to": [{"cidr": "0.0.0.0/0"}]}])", ""};
  }
  if (table == "filesystem") {
    return {R"("readwritePaths": ["/a"])", R"("readwritePaths": ["/a", "/a/b/c"])",
            R"("readwritePaths": ["/a/b"])", R"("readonlyPaths": ["/a"])"};
  }
  return {""};
}

std::string joined(const std::string& one, const std::string& other) {
  return one.empty() || other.empty() ? one + other : one + ", " + other;
}

// Two members of one name are no document: the one that is asked about counts.
bool repeats(const std::string& companion, const std::string& member) {
  const std::string key = member.substr(0, member.find(':'));
  return companion.find(key + ":") != std::string::npos;
}

std::string document(std::string_view version, std::string_view table, const std::string& inside) {
  std::string process = R"("commandLine": "true")";
  std::string rest;
  if (table.empty()) {
    rest = inside;
  } else if (table == "process") {
    process = joined(process, inside);
  } else if (table == "network.proxy") {
    rest = R"("network": {"defaultPolicy": "allow", "proxy": {)" + inside + "}}";
  } else if (table.starts_with("network.egress")) {
    rest = R"("network": {"egress": {)" + inside + "}}";
  } else if (table == "network.ingress") {
    rest = R"("network": {"egress": {"default": "allow"}, "ingress": {)" + inside + "}}";
  } else {
    rest = "\"" + std::string(table) + "\": {" + inside + "}";
  }
  return joined(R"({"version": ")" + std::string(version) + R"(", "process": {)" + process + "}",
                rest) +
         "}";
}

Result<Imported> read(const std::string& text) {
  auto node = read_json(text, "x.json");
  EXPECT_TRUE(node) << text;
  return import_policy(Dialect::Mxc, *node, "x.json", plain_places(), {});
}

bool is_wider(const Policy& policy, const PolicyAccess& access, const Policy& before,
              const PolicyAccess& than) {
  for (const std::string& path : kPaths) {
    for (const Access wish : {Access::Read, Access::Write}) {
      if (access.may(wish, path) && !than.may(wish, path)) return true;
    }
  }
  for (const std::string& host : kHosts) {
    if (access.reaches(host, kPort) && !than.reaches(host, kPort)) return true;
  }
  if (before.limits.wall_ms && policy.limits.wall_ms.value_or(~0ULL) > *before.limits.wall_ms) {
    return true;
  }
  return policy.net.mode > std::max<NetMode>(before.net.mode, NetMode::Allow) ||
         policy.env.set.size() > before.env.set.size();
}

const std::vector<std::string_view> kVersions{
    "0.4.0", "0.5.0", "0.6.0-alpha", "0.7.1", "0.8.0-alpha", "0.9.0-alpha", "1.0.0", "1.1.0-alpha"};

// How often a document with the key was read, and how often it was refused by name.
struct Tally {
  int held = 0;
  int refused = 0;
};

void try_narrowing(std::string_view table, std::string_view key, const Narrowing& narrowing,
                   Tally& tally) {
  for (const std::string_view version : kVersions) {
    for (const std::string& companion : companions(table)) {
      if (repeats(companion, narrowing.member)) continue;
      if (companion.find(narrowing.beside) == std::string::npos) continue;
      const auto without = read(document(version, table, joined(companion, narrowing.before)));
      const std::string text = document(version, table, joined(companion, narrowing.member));
      const auto with = read(text);
      if (!with) {
        const Error& error = with.error();
        // Not of this version, or what stands beside it is not: then nothing is dropped either.
        const bool named = error.what.find(key) != std::string::npos ||
                           error.what.find(table) != std::string::npos || !without;
        EXPECT_TRUE(named) << text << ": " << error.what;
        ++tally.refused;
        continue;
      }
      const PolicyAccess access(with->policy);
      EXPECT_TRUE(narrowing.held(with->policy, access)) << text;
      ++tally.held;
      if (!without) continue;
      EXPECT_FALSE(is_wider(with->policy, access, without->policy, PolicyAccess(without->policy)))
          << text;
    }
  }
}

TEST(MxcNarrowing, EveryKeyOfTheReaderIsDecidedAbout) {
  std::size_t keys = 0;
  for (const MxcTable& table : mxc_table::kAll) {
    for (const std::string_view key : table.keys) {
      ++keys;
      const auto found = decisions().find({table.name, key});
      ASSERT_NE(found, decisions().end()) << "decide about " << table.name << "." << key;
      EXPECT_NE(found->second.narrowing.empty(), found->second.idle.why.empty())
          << table.name << "." << key;
    }
  }
  EXPECT_EQ(keys, decisions().size());
}

TEST(MxcNarrowing, EveryKeyThatNarrowsIsHeldOrRefusedByName) {
  int held = 0;
  for (const MxcTable& table : mxc_table::kAll) {
    for (const std::string_view key : table.keys) {
      Tally tally;
      for (const Narrowing& narrowing : decisions().at({table.name, key}).narrowing) {
        try_narrowing(table.name, key, narrowing, tally);
      }
      held += tally.held;
      const bool tried =
          decisions().at({table.name, key}).narrowing.empty() || tally.held + tally.refused > 0;
      EXPECT_TRUE(tried) << table.name << "." << key;
    }
  }
  EXPECT_GT(held, 200);
}

TEST(MxcNarrowing, AClosedLoopbackIsRefusedWhereTheNetworkIsTheHosts) {
  const std::string closed = R"("defaultPolicy": "allow", "allowLocalNetwork": false)";
  const auto refused = read(document("0.8.0-alpha", "network", closed));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Unsupported);
  EXPECT_NE(refused.error().what.find("\"allowLocalNetwork\" false cannot be held"),
            std::string::npos);
  // The cures that the hint names.
  EXPECT_TRUE(
      read(document("0.8.0-alpha", "network", R"("allowedHosts": ["one.example"], )" + closed)));
  EXPECT_TRUE(read(document("0.8.0-alpha", "network",
                            R"("defaultPolicy": "block", "allowLocalNetwork": false)")));
  // Without the key the network is the host's, as the document says.
  EXPECT_EQ(
      read(document("0.8.0-alpha", "network", R"("defaultPolicy": "allow")"))->policy.net.mode,
      NetMode::Open);
}

}  // namespace
}  // namespace cordon
