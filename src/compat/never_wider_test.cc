// A conversion never widens. Documents are read by slow oracles written from what each tool's
// documentation says, and compared with what the converted policy grants.
#include <gtest/gtest.h>

#include <algorithm>

#include "compat/convert.h"
#include "compat/dialect/test_access.h"
#include "policy/net_rules.h"
#include "support/choices.h"
#include "support/property.h"

namespace cordon {
namespace {

using testing::any_choices;
using testing::check_cases;
using testing::Choices;
using testing::in_this_build;
using testing::plain_places;
using testing::PolicyAccess;

const std::vector<std::string> kPaths{"/a", "/b", "/a/a", "/a/b", "/b/a", "/a/b/a", "/a/b/b"};
const std::vector<std::string> kProbes{"/a",     "/b",     "/c",       "/a/a",   "/a/b",
                                       "/a/c",   "/b/a",   "/b/b",     "/a/a/a", "/a/b/a",
                                       "/a/b/b", "/a/b/c", "/a/b/a/a", "/b/a/b"};
const std::vector<std::string> kAddresses{"10.0.0.1", "10.9.9.9", "192.0.2.1", "127.0.0.1",
                                          "2001:db8::1"};
const std::vector<std::string> kNames{"one.example", "two.example", "sub.one.example"};
const std::vector<std::uint16_t> kPorts{80, 443};

using Paths = std::vector<std::string>;

Paths any_paths(Choices& choices, std::size_t most) {
  Paths paths;
  for (std::size_t count = choices.below(most + 1); count > 0; --count) {
    paths.push_back(choices.of(kPaths));
  }
  return paths;
}

Node texts(const Paths& paths) {
  NodeList list;
  for (const std::string& path : paths) list.emplace_back(path);
  return list;
}

// The length of the longest entry that covers `path`; 0 if none does.
std::size_t cover(const Paths& entries, const std::string& path) {
  std::size_t longest = 0;
  for (const std::string& entry : entries) {
    if (contains(entry, path)) longest = std::max(longest, entry.size());
  }
  return longest;
}

enum class Right { None, Read, Write };

struct FileOracle {
  Paths read, write, deny;
  bool by_order = false;  // MXC before 0.8: writable, then read-only, then denied; the rest is read

  [[nodiscard]] Right at(const std::string& path) const {
    const std::size_t r = cover(read, path);
    const std::size_t w = cover(write, path);
    const std::size_t d = cover(deny, path);
    if (by_order) {
      if (d > 0) return Right::None;
      return r == 0 && w > 0 ? Right::Write : Right::Read;
    }
    const std::size_t longest = std::max({r, w, d});
    if (longest == 0 || d == longest) return Right::None;
    return r == longest ? Right::Read : Right::Write;
  }
};

template <typename Allowed>
void expect_files_within(const PolicyAccess& access, Allowed allowed) {
  for (const std::string& path : kProbes) {
    const Right right = allowed(path);
    if (access.may(Access::Read, path)) RC_ASSERT(right != Right::None);
    if (access.may(Access::Write, path)) RC_ASSERT(right == Right::Write);
  }
}

template <typename Allowed>
void expect_hosts_within(const PolicyAccess& access, Allowed allowed) {
  for (const auto* hosts : {&kAddresses, &kNames}) {
    for (const std::string& host : *hosts) {
      for (const std::uint16_t port : kPorts) {
        if (access.reaches(host, port)) RC_ASSERT(allowed(host, port));
      }
    }
  }
}

bool in(const Paths& list, const std::string& host) {
  return std::find(list.begin(), list.end(), host) != list.end() ||
         (host.starts_with("10.") &&
          std::find(list.begin(), list.end(), "10.0.0.0/8") != list.end());
}

Paths any_hosts(Choices& choices, std::size_t most) {
  Paths hosts;
  for (std::size_t count = choices.below(most + 1); count > 0; --count) {
    hosts.push_back(choices.one_in(3)   ? "10.0.0.0/8"
                    : choices.one_in(2) ? choices.of(kNames)
                                        : choices.of(kAddresses));
  }
  return hosts;
}

Node mxc_document(const FileOracle& files, const char* version) {
  Node filesystem;
  filesystem.set("readonlyPaths", texts(files.read))
      .set("readwritePaths", texts(files.write))
      .set("deniedPaths", texts(files.deny));
  Node process;
  process.set("commandLine", Node("true"));
  Node document;
  document.set("version", Node(version))
      .set("process", std::move(process))
      .set("filesystem", std::move(filesystem));
  return document;
}

TEST(NeverWider, MxcFilesAndHosts) {
  int granted = 0;
  check_cases(1500, [&] {
    Choices choices = any_choices();
    const std::vector<const char*> versions{"0.4.0", "0.6.0-alpha", "0.7.1", "0.8.0-alpha"};
    const char* version = choices.of(versions);
    FileOracle files{any_paths(choices, 3), any_paths(choices, 3), any_paths(choices, 2),
                     std::string_view(version) < "0.8"};
    const bool open = choices.one_in(2);
    const Paths allowed = any_hosts(choices, 2);
    const Paths blocked = any_hosts(choices, 2);
    Node network;
    network.set("defaultPolicy", Node(open ? "allow" : "block"))
        .set("allowedHosts", texts(allowed))
        .set("blockedHosts", texts(blocked));
    Node document = mxc_document(files, version);
    document.set("network", std::move(network));
    const auto imported = import_policy(Dialect::Mxc, document, "x.json", plain_places(), {});
    RC_ASSERT(imported.has_value());
    const PolicyAccess access(imported->policy);
    expect_files_within(access, [&](const std::string& path) { return files.at(path); });
    expect_hosts_within(access, [&](const std::string& host, std::uint16_t) {
      return !in(blocked, host) && (open || in(allowed, host));
    });
    for (const std::string& path : kProbes) granted += access.may(Access::Write, path) ? 1 : 0;
  });
  EXPECT_GT(granted, in_this_build(100));
}

struct EgressRule {
  Paths to;
  Paths except;
  std::uint16_t port = 0;  // 0: every port
  std::string protocol;    // empty: any

  [[nodiscard]] bool covers(const std::string& host, std::uint16_t at) const {
    if (host.find(".example") != std::string::npos) return false;
    const bool every = except.empty() || host.find(':') == std::string::npos;
    const bool hit = (to.empty() && every) || in(to, host + "/32") || in(to, host);
    const bool tcp = protocol.empty() || protocol == "tcp" || protocol == "any";
    return hit && !in(except, host) && !in(except, host + "/32") && (port == 0 || port == at) &&
           tcp;
  }
  [[nodiscard]] Node node() const {
    Node rule{NodeMap{}};
    if (!to.empty()) {
      NodeList targets;
      for (const std::string& cidr : to) {
        Node target;
        target.set("cidr", Node(cidr)).set("except", texts(except));
        targets.push_back(std::move(target));
      }
      rule.set("to", std::move(targets));
    } else if (!except.empty()) {
      rule.set("to", NodeList{Node().set("cidr", Node("0.0.0.0/0")).set("except", texts(except))});
    }
    Node ports;
    if (!protocol.empty()) ports.set("protocol", Node(protocol));
    if (port != 0) ports.set("port", Node(std::uint64_t{port}));
    if (ports.map() != nullptr) rule.set("ports", NodeList{std::move(ports)});
    return rule;
  }
};

std::vector<EgressRule> any_egress(Choices& choices) {
  const Paths ranges{"10.0.0.0/8", "10.0.0.1/32", "192.0.2.1/32", "127.0.0.1/32"};
  const Paths protocols{"", "tcp", "udp", "any"};
  std::vector<EgressRule> rules;
  for (std::size_t count = choices.below(3); count > 0; --count) {
    EgressRule rule;
    if (!choices.one_in(4)) rule.to.push_back(choices.of(ranges));
    if (choices.one_in(3)) rule.except.push_back(choices.of(ranges));
    if (choices.one_in(2)) rule.port = choices.of(kPorts);
    rule.protocol = choices.of(protocols);
    rules.push_back(std::move(rule));
  }
  return rules;
}

TEST(NeverWider, MxcDirections) {
  int reached = 0;
  check_cases(1500, [&] {
    Choices choices = any_choices();
    const bool open = choices.one_in(2);
    const auto allow = any_egress(choices);
    const auto deny = any_egress(choices);
    const auto nodes = [](const std::vector<EgressRule>& rules) {
      NodeList list;
      for (const EgressRule& rule : rules) list.push_back(rule.node());
      return list;
    };
    Node egress;
    egress.set("default", Node(open ? "allow" : "deny"))
        .set("allow", nodes(allow))
        .set("deny", nodes(deny));
    Node network;
    network.set("egress", std::move(egress));
    Node document = mxc_document({}, choices.one_in(2) ? "1.0.0" : "0.8.0-alpha");
    document.set("network", std::move(network));
    const auto imported = import_policy(Dialect::Mxc, document, "x.json", plain_places(), {});
    RC_ASSERT(imported.has_value());
    const PolicyAccess access(imported->policy);
    const auto any = [](const auto& rules, const std::string& host, std::uint16_t port) {
      return std::any_of(rules.begin(), rules.end(),
                         [&](const EgressRule& rule) { return rule.covers(host, port); });
    };
    expect_hosts_within(access, [&](const std::string& host, std::uint16_t port) {
      // The host's loopback is not among what egress rules open.
      if (host == "127.0.0.1" || any(deny, host, port)) return false;
      return open || any(allow, host, port);
    });
    for (const std::string& host : kAddresses) reached += access.reaches(host, 443) ? 1 : 0;
  });
  EXPECT_GT(reached, in_this_build(100));
}

TEST(NeverWider, SrtFilesAndHosts) {
  int granted = 0;
  int reopened = 0;
  check_cases(1500, [&] {
    Choices choices = any_choices();
    Paths deny_read = any_paths(choices, 3);
    if (choices.one_in(3)) deny_read.emplace_back("/");
    const Paths allow_read = any_paths(choices, 2);
    const Paths allow_write = any_paths(choices, 3);
    const Paths deny_write = any_paths(choices, 2);
    const Paths domains = choices.one_in(2) ? Paths{"one.example", "*.one.example"}
                                            : Paths{"two.example:443", "10.0.0.1"};
    const Paths denied = choices.one_in(2) ? Paths{"one.example"} : Paths{};
    Node network;
    network.set("allowedDomains", texts(domains)).set("deniedDomains", texts(denied));
    Node filesystem;
    filesystem.set("denyRead", texts(deny_read))
        .set("allowRead", texts(allow_read))
        .set("allowWrite", texts(allow_write))
        .set("denyWrite", texts(deny_write));
    Node document;
    document.set("network", std::move(network)).set("filesystem", std::move(filesystem));
    const auto imported = import_policy(Dialect::Srt, document, "x.json", plain_places(), {});
    RC_ASSERT(imported.has_value());
    const PolicyAccess access(imported->policy);
    expect_files_within(access, [&](const std::string& path) {
      if (cover(allow_write, path) > 0 && cover(deny_write, path) == 0) return Right::Write;
      const std::size_t closed = cover(deny_read, path);
      const std::size_t opened = std::max(cover(allow_read, path), cover(allow_write, path));
      return closed == 0 || opened >= closed ? Right::Read : Right::None;
    });
    expect_hosts_within(access, [&](const std::string& host, std::uint16_t port) {
      if (in(denied, host)) return false;
      return in(domains, host) || in(domains, host + ":" + std::to_string(port)) ||
             (host == "sub.one.example" && in(domains, "*.one.example"));
    });
    for (const std::string& path : kProbes) {
      granted += access.may(Access::Write, path) ? 1 : 0;
      const bool again = cover(deny_read, path) > 1 && cover(allow_read, path) > 1 &&
                         cover(allow_write, path) == 0;
      reopened += again && access.may(Access::Read, path) ? 1 : 0;
    }
  });
  EXPECT_GT(granted, in_this_build(100));
  EXPECT_GT(reopened, in_this_build(20));
}

// "/a" is only to be read because it was denied and is opened again; what is writable in it is the
// longer rule, and has a part that must not be written.
TEST(NeverWider, SrtHoldsWhatLiesInAWritablePathOfAHeldOne) {
  Node filesystem;
  filesystem.set("denyRead", texts({"/a"}))
      .set("allowRead", texts({"/a"}))
      .set("allowWrite", texts({"/a", "/a/b", "/a/c/d"}))
      .set("denyWrite", texts({"/a/b/b", "/a/c/d/e/f"}));
  Node network;
  network.set("allowedDomains", NodeList{}).set("deniedDomains", NodeList{});
  Node document;
  document.set("network", std::move(network)).set("filesystem", std::move(filesystem));
  const auto imported = import_policy(Dialect::Srt, document, "x.json", plain_places(), {});
  ASSERT_TRUE(imported.has_value());
  const PolicyAccess access(imported->policy);
  for (const char* held : {"/a/b/b", "/a/b/b/x", "/a/c/d/e/f", "/a", "/a/x", "/a/c", "/a/c/x"}) {
    EXPECT_TRUE(access.may(Access::Read, held)) << held;
    EXPECT_FALSE(access.may(Access::Write, held)) << held;
  }
  for (const char* writable : {"/a/b", "/a/b/x", "/a/c/d/x", "/a/c/d/e/x"})
    EXPECT_TRUE(access.may(Access::Write, writable)) << writable;
}

TEST(NeverWider, SafeClawFiles) {
  int granted = 0;
  check_cases(1500, [&] {
    Choices choices = any_choices();
    const Paths accesses{"read", "write", "readwrite", "execute", "readwriteexecute"};
    NodeList allow;
    Paths read;
    Paths write;
    for (std::size_t count = choices.below(5); count > 0; --count) {
      const std::string path = choices.of(kPaths);
      const std::string access = choices.of(accesses);
      (access == "read" || access == "execute" ? read : write).push_back(path);
      allow.push_back(Node().set("path", Node(path)).set("access", Node(access)));
    }
    const Paths deny = any_paths(choices, 2);
    NodeList denies;
    for (const std::string& path : deny) denies.push_back(Node().set("path", Node(path)));
    Node document;
    document.set("filesystem", Node().set("allow", std::move(allow)).set("deny", denies))
        .set("syscalls",
             Node().set("allow", NodeList{Node("read")}).set("defaultDeny", Node(true)));
    const std::vector<std::string> dropped{"execute"};
    auto imported = import_policy(Dialect::SafeClaw, document, "x.json", plain_places(), dropped);
    if (!imported) {
      // Every rule lets what it names be executed, so nothing has to be given up.
      RC_ASSERT(imported.error().kind == ErrorKind::Usage);
      imported = import_policy(Dialect::SafeClaw, document, "x.json", plain_places(), {});
    }
    RC_ASSERT(imported.has_value());
    const PolicyAccess access(imported->policy);
    expect_files_within(access, [&](const std::string& path) {
      if (cover(deny, path) > 0) return Right::None;
      if (cover(write, path) > 0) return Right::Write;
      return cover(read, path) > 0 ? Right::Read : Right::None;
    });
    for (const std::string& path : kProbes) granted += access.may(Access::Write, path) ? 1 : 0;
  });
  EXPECT_GT(granted, in_this_build(100));
}

HostRule any_rule(Choices& choices) {
  HostRule rule;
  if (choices.one_in(2)) {
    rule.kind = choices.one_in(3) ? HostRule::Kind::Subdomains : HostRule::Kind::Name;
    rule.name = choices.of(kNames);
  } else {
    rule.kind = HostRule::Kind::Address4;
    rule.address = {10, static_cast<std::uint8_t>(choices.one_in(2) ? 0 : 9)};
    rule.prefix = choices.one_in(2) ? 8 : 32;
    if (rule.prefix == 32) rule.address[3] = 1;
    if (rule.prefix == 8) rule.address[1] = 0;
  }
  if (choices.one_in(2)) rule.first_port = rule.last_port = choices.of(kPorts);
  if (choices.one_in(6)) rule.last_port = 65535;
  return rule;
}

Policy any_policy(Choices& choices) {
  Policy policy;
  const auto fill = [&](std::vector<PathRule>& rules, std::size_t most) {
    for (const std::string& path : any_paths(choices, most)) rules.push_back({path, {}});
  };
  fill(policy.fs.read, 3);
  fill(policy.fs.write, 3);
  fill(policy.fs.deny, 2);
  if (choices.one_in(8)) policy.fs.read.push_back({"/", {}});
  if (choices.one_in(8)) policy.fs.deny.push_back({"*.pem", {}});
  policy.net.mode =
      access_of(choices.of(std::vector{NetMode::None, NetMode::Allow, NetMode::Open}));
  for (std::size_t count = choices.below(3); count > 0; --count) {
    if (policy.net.mode == NetMode::Allow) policy.net.allow.push_back(any_rule(choices));
    policy.net.deny.push_back(any_rule(choices));
  }
  if (choices.one_in(2)) policy.limits.wall_ms = 1000 * (1 + choices.below(5));
  if (choices.one_in(8)) policy.limits.pids = 5;
  return policy;
}

void round_trip(Dialect dialect, std::vector<std::string> dropped, bool holds_wall) {
  int converted = 0;
  int granted = 0;
  check_cases(1500, [&] {
    Choices choices = any_choices();
    Policy policy = any_policy(choices);
    if (!holds_wall) policy.limits.wall_ms.reset();
    const auto exported = export_policy(dialect, policy, plain_places(), dropped);
    if (!exported) {
      // Only what cannot be said stops it, and the error says what.
      RC_ASSERT(exported.error().kind == ErrorKind::Unsupported);
      RC_ASSERT(exported.error().hint.find("--drop ") != std::string::npos);
      return;
    }
    const auto imported = import_policy(dialect, exported->document, "x.json", plain_places(), {});
    RC_ASSERT(imported.has_value());
    ++converted;
    const PolicyAccess before(policy);
    const PolicyAccess after(imported->policy);
    for (const std::string& path : kProbes) {
      for (const Access access : {Access::Read, Access::Write, Access::Execute}) {
        if (after.may(access, path)) RC_ASSERT(before.may(access, path));
      }
      granted += after.may(Access::Write, path) ? 1 : 0;
    }
    expect_hosts_within(after, [&](const std::string& host, std::uint16_t port) {
      return before.reaches(host, port);
    });
    if (policy.limits.wall_ms) {
      RC_ASSERT(imported->policy.limits.wall_ms.has_value());
      RC_ASSERT(*imported->policy.limits.wall_ms <= *policy.limits.wall_ms);
    }
    RC_ASSERT(!policy.limits.pids.has_value());
  });
  EXPECT_GT(converted, in_this_build(100));
  EXPECT_GT(granted, in_this_build(100));
}

TEST(NeverWider, RoundTripThroughMxc) { round_trip(Dialect::Mxc, {"fs.scratch"}, true); }
TEST(NeverWider, RoundTripThroughSrt) { round_trip(Dialect::Srt, {"fs.scratch", "env"}, false); }
TEST(NeverWider, RoundTripThroughSafeClaw) {
  round_trip(Dialect::SafeClaw, {"fs.scratch", "env"}, true);
}

}  // namespace
}  // namespace cordon
