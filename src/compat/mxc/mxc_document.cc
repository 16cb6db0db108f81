// A policy as an MXC document. The version is 0.8: with it the executors show no more of the disk
// than they are told to, and rules for addresses hold. Before, neither was so.

#include "compat/mxc/mxc_document.h"

#include <algorithm>

#include "base/text.h"
#include "compat/dialect/foreign_table.h"
#include "config/node.h"
#include "policy/net_rules.h"

namespace cordon {
namespace {

bool is_name(const HostRule& rule) {
  return rule.kind == HostRule::Kind::Name || rule.kind == HostRule::Kind::Subdomains;
}

bool is_loopback_address(const HostRule& rule) {
  return (rule.kind == HostRule::Kind::Address4 && rule.prefix >= 8 && rule.address[0] == 127) ||
         (rule.kind == HostRule::Kind::Address6 && rule.prefix == 128 &&
          to_string(rule).starts_with("[::1]"));
}

std::string cidr_of(HostRule rule) {
  rule.first_port = 1;
  rule.last_port = kHighestPort;
  std::string text = to_string(rule);
  std::erase_if(text, [](char c) { return c == '[' || c == ']'; });
  if (text.find('/') == std::string::npos) text += "/" + std::to_string(rule.prefix);
  return text;
}

Node egress_rule(const HostRule& rule) {
  Node target;
  target.set("cidr", Node(cidr_of(rule)));
  Node ports;
  ports.set("protocol", Node("tcp"));
  if (rule.first_port != 1 || rule.last_port != kHighestPort) {
    ports.set("port", Node(std::uint64_t{rule.first_port}));
    if (rule.last_port != rule.first_port) {
      ports.set("endPort", Node(std::uint64_t{rule.last_port}));
    }
  }
  Node node;
  node.set("to", NodeList{std::move(target)}).set("ports", NodeList{std::move(ports)});
  return node;
}

Node closed_ingress() {
  Node ingress;
  ingress.set("default", Node("deny")).set("hostLoopback", Node("deny"));
  return ingress;
}

Node encode_mxc_network(Exporter& out) {
  const NetRules& net = out.policy.net;
  NodeList allow;
  NodeList deny;
  if (net.mode == NetMode::Allow) {
    for (const HostRule& rule : net.allow) {
      if (is_name(rule)) {
        out.lose("net.allow", shown(to_string(rule)) + " is a name; only addresses can be said");
      } else if (is_loopback_address(rule)) {
        out.lose("net.allow", shown(to_string(rule)) + " is the host's loopback");
      } else {
        allow.push_back(egress_rule(rule));
      }
    }
  }
  if (!net.publish.empty()) out.lose("net.publish", "nothing inside can be reached from the host");
  if (net.mode == NetMode::Open) out.lose("net.mode", "the host's own loopback is not reached");
  for (const HostRule& rule : net.deny) {
    if (net.mode == NetMode::None) break;
    if (!is_name(rule)) {
      deny.push_back(egress_rule(rule));
    } else if (net.mode == NetMode::Open) {
      out.restrictions.give_up("net.deny", shown(to_string(rule)) + " is a name");
    }
  }
  Node egress;
  egress.set("default", Node(net.mode == NetMode::Open ? "allow" : "deny"));
  if (!allow.empty()) egress.set("allow", std::move(allow));
  if (!deny.empty()) egress.set("deny", std::move(deny));
  Node network;
  network.set("egress", std::move(egress)).set("ingress", closed_ingress());
  return network;
}

// The host's network is shared by the older words only, which have to say that its loopback is
// meant too.
Node plain_network(MxcOutput::Network network) {
  Node node;
  switch (network) {
    case MxcOutput::Network::None:
      node.set("egress", Node(NodeMap{{"default", Node("deny")}}));
      node.set("ingress", closed_ingress());
      break;
    case MxcOutput::Network::Host:
      node.set("defaultPolicy", Node("allow")).set("allowLocalNetwork", Node(true));
      break;
  }
  return node;
}

Node document_of(const MxcOutput& output, Node network) {
  Node process;
  process.set("commandLine", Node(output.command_line));
  if (output.cwd) process.set("cwd", Node(*output.cwd));
  process.set("env", text_nodes(output.environment));
  if (output.timeout_ms) process.set("timeout", Node(std::min(*output.timeout_ms, kMostTimeout)));
  Node filesystem;
  filesystem.set("readwritePaths", text_nodes(output.write))
      .set("readonlyPaths", text_nodes(output.read))
      .set("deniedPaths", text_nodes(output.deny));
  Node document;
  document.set("version", Node("0.8.0-alpha"))
      .set("containment", Node(output.containment))
      .set("process", std::move(process))
      .set("filesystem", std::move(filesystem))
      .set("network", std::move(network));
  return document;
}

}  // namespace

bool mxc_can_name(const std::string& path) {
  return path.find('"') == std::string::npos && is_valid_utf8(path);
}

Node mxc_document(const MxcOutput& output) {
  return document_of(output, plain_network(output.network));
}

Result<Node> export_mxc(Exporter& out) {
  const Policy& policy = out.policy;
  CORDON_TRY(paths, plain_paths(out));
  for (const auto* list : {&paths.read, &paths.write, &paths.deny}) {
    for (const std::string& path : *list) {
      if (path.find('"') == std::string::npos) continue;
      return fail(policy_error("path " + shown(path) + " holds a quote, which MXC refuses"));
    }
  }
  out.restrictions.give_up("fs.scratch", "a private /tmp without a bound is always there");
  give_up_limits(out, true);
  lose_what_is_ours(out);
  MxcOutput output;
  output.command_line = "true";
  out.lose("command", "a policy names none: \"true\" stands in its place");
  if (!policy.env.pass.empty()) {
    out.lose("env.pass", "values would be copied into the document");
  }
  for (const auto& [name, value] : policy.env.set)
    output.environment.push_back(std::string(name).append("=").append(value));
  output.timeout_ms = policy.limits.wall_ms;
  output.read = std::move(paths.read);
  output.write = std::move(paths.write);
  output.deny = std::move(paths.deny);
  return document_of(output, encode_mxc_network(out));
}

}  // namespace cordon
