#include <algorithm>
#include <array>

#include "base/path.h"
#include "config/document_text.h"
#include "config/foreign/dialects.h"

namespace cordon {
namespace {

constexpr std::size_t kMostAllow = 64;
constexpr std::size_t kMostDeny = 16;
constexpr std::uint64_t kMostTimeout = 0xFFFFFFFF;
// What its helper permits by default. A program that needs more has to be given it by hand.
constexpr std::array<const char*, 27> kSyscalls{"read",
                                                "write",
                                                "exit",
                                                "exit_group",
                                                "brk",
                                                "mmap",
                                                "close",
                                                "fstat",
                                                "mprotect",
                                                "munmap",
                                                "rt_sigaction",
                                                "rt_sigprocmask",
                                                "ioctl",
                                                "access",
                                                "getpid",
                                                "clone",
                                                "execve",
                                                "wait4",
                                                "uname",
                                                "fcntl",
                                                "getcwd",
                                                "arch_prctl",
                                                "set_tid_address",
                                                "set_robust_list",
                                                "rseq",
                                                "prlimit64",
                                                "getrandom"};

Node rules(const std::vector<std::string>& paths, const char* access) {
  NodeList list;
  for (const std::string& path : paths) {
    Node rule;
    rule.set("path", Node(path)).set("access", Node(access));
    list.push_back(std::move(rule));
  }
  return list;
}

Node encode_network(Exporter& out) {
  const Domains domains = to_domains(out);
  if (domains.allowed.empty()) return "none";
  Node network;
  network.set("allowedDomains", text_nodes(domains.allowed))
      .set("deniedDomains", text_nodes(domains.denied));
  return network;
}

// Rights there add up: a path that is only read inside one that is written would be writable.
Result<void> give_up_inner_reads(Exporter& out, const PlainPaths& paths) {
  for (const std::string& read : paths.read) {
    for (const std::string& write : paths.write) {
      CORDON_TRY(outer, out.places.real(write));
      CORDON_TRY(inner, out.places.real(read));
      if (!contains(outer, inner)) continue;
      out.restrictions.give_up("fs.read",
                               shown(read) + " would be writable inside " + shown(write));
      break;
    }
  }
  return {};
}

}  // namespace

Result<Node> export_safeclaw(Exporter& out) {
  CORDON_TRY(paths, plain_paths(out));
  if (paths.read.size() + paths.write.size() > kMostAllow || paths.deny.size() > kMostDeny) {
    return fail(policy_error("the policy has more rules than its helper takes",
                             "64 grants and 16 denies are the most"));
  }
  CORDON_CHECK(give_up_inner_reads(out, paths));
  out.restrictions.give_up("fs.scratch", "there is no private space for temporary files");
  out.restrictions.give_up("env", "the environment is not a part of the document");
  give_up_limits(out, true);
  lose_what_is_ours(out);
  Node allow = rules(paths.read, "execute");
  const Node writable = rules(paths.write, "readwriteexecute");
  auto& allowed = std::get<NodeList>(allow.value);
  allowed.insert(allowed.end(), writable.list()->begin(), writable.list()->end());
  Node filesystem;
  filesystem.set("allow", std::move(allow)).set("deny", rules(paths.deny, "readwriteexecute"));
  NodeList names;
  for (const char* name : kSyscalls) names.emplace_back(name);
  Node syscalls;
  syscalls.set("allow", std::move(names)).set("defaultDeny", Node(true));
  out.lose("syscalls",
           "Cordon's own filter is no part of a policy: the helper's default stands in "
           "its place");
  Node namespaces;
  for (const char* name : {"pid", "net", "mnt", "user"}) namespaces.set(name, Node(true));
  Node document;
  document.set("filesystem", std::move(filesystem))
      .set("syscalls", std::move(syscalls))
      .set("network", encode_network(out))
      .set("namespaces", std::move(namespaces));
  if (out.policy.limits.wall_ms) {
    document.set("timeoutMs", Node(std::min(*out.policy.limits.wall_ms, kMostTimeout)));
  }
  return document;
}

}  // namespace cordon
