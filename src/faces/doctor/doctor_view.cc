#include "faces/doctor/doctor_view.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "config/node.h"
#include "faces/cli/console.h"
#include "run/answers.h"

namespace cordon {
namespace {

struct Count {
  std::size_t passed = 0;
  std::size_t warnings = 0;
  std::size_t failed = 0;
};

Count count(const std::vector<Check>& checks) {
  Count result;
  for (const Check& check : checks) {
    switch (check.status) {
      case CheckStatus::Pass:
        ++result.passed;
        break;
      case CheckStatus::Warn:
        ++result.warnings;
        break;
      case CheckStatus::Fail:
        ++result.failed;
        break;
    }
  }
  return result;
}

std::string mark(CheckStatus status) {
  switch (status) {
    case CheckStatus::Pass:
      return tinted(STDOUT_FILENO, Tint::Good, "[PASS]");
    case CheckStatus::Warn:
      return tinted(STDOUT_FILENO, Tint::Warning, "[WARN]");
    case CheckStatus::Fail:
      return tinted(STDOUT_FILENO, Tint::Bad, "[FAIL]");
  }
  return {};
}

// The line that counts and names what fails for the reason that `check` tells.
std::string dependents(const std::vector<Check>& checks, const Check& check) {
  std::string names;
  std::size_t number = 0;
  for (const Check& other : checks) {
    if (other.cause != check.name) continue;
    names.append(names.empty() ? "" : ", ").append(other.name);
    ++number;
  }
  if (number == 0) return {};
  return "         " + std::to_string(number) +
         (number == 1 ? " more check depends on it: " : " more checks depend on it: ") + names +
         "\n";
}

bool passed(const HostAccount& account, std::string_view name) {
  return std::ranges::any_of(
      account.probes, [&](const native::Probe& probe) { return probe.name == name && probe.ok; });
}

Node kernel_node(const HostAccount& account) {
  Node landlock{NodeMap{}};
  landlock.set("supported", passed(account, "landlock"));
  landlock.set("abiVersion", account.landlock_abi);
  landlock.set("errata", std::uint64_t{account.landlock_errata});
  Node seccomp{NodeMap{}};
  seccomp.set("supported", passed(account, "seccomp"));
  NodeList actions;
  for (const native::SeccompAction& action : account.seccomp_actions) {
    if (action.available) actions.emplace_back(action.name);
  }
  seccomp.set("actions", std::move(actions));
  Node namespaces{NodeMap{}};
  namespaces.set("user", passed(account, "user-namespace"));
  namespaces.set("pid", passed(account, "pid-namespace"));
  namespaces.set("net", passed(account, "net-namespace"));
  namespaces.set("mnt", passed(account, "mount-namespace"));
  Node bwrap{NodeMap{}};
  for (const ToolFound& tool : account.tools) {
    if (tool.name != "bwrap") continue;
    bwrap.set("available", !tool.path.empty());
    bwrap.set("path", tool.path.empty() ? Node() : Node(tool.path));
    bwrap.set("version", tool.version.empty() ? Node() : Node(tool.version));
  }
  Node node{NodeMap{}};
  node.set("landlock", std::move(landlock));
  node.set("seccomp", std::move(seccomp));
  node.set("namespaces", std::move(namespaces));
  node.set("bwrap", std::move(bwrap));
  return node;
}

Node capabilities_node(const Result<Capabilities>& probed) {
  if (!probed) return {};
  const Capabilities& found = *probed;
  Node node{NodeMap{}};
  node.set("backend", name_of(found.backend));
  node.set("fs_read", found.fs_read);
  node.set("fs_write", found.fs_write);
  node.set("execute", found.execute);
  node.set("net_block", found.net_block);
  node.set("net_allow", found.net_allow);
  node.set("network_host_filtering", found.network_host_filtering);
  node.set("deny_paths_supported", found.deny_paths_supported);
  node.set("environment_scrub", found.environment_scrub);
  node.set("tree_kill", found.tree_kill);
  node.set("pid_limit", found.pid_limit);
  node.set("memory_limit", found.memory_limit);
  node.set("syscalls", found.syscalls);
  node.set("sessions", found.sessions);
  return node;
}

Node host_node(const HostAccount& account) {
  Node node{NodeMap{}};
  node.set("platform", account.system);
  node.set("architecture", account.machine);
  node.set("kernel", account.release);
  node.set("distribution", account.distribution);
  node.set("container", account.in_container);
  return node;
}

}  // namespace

Node check_node(const Check& check) {
  Node node{NodeMap{}};
  node.set("category", name_of(check.category));
  node.set("name", check.name);
  node.set("status", name_of(check.status));
  node.set("message", check.message);
  node.set("cure", check.cure.empty() ? Node() : Node(check.cure));
  node.set("cause", check.cause.empty() ? Node() : Node(check.cause));
  return node;
}

std::string doctor_text(const std::vector<Check>& checks) {
  std::string text = "Cordon doctor\n";
  for (const CheckCategory category :
       {CheckCategory::System, CheckCategory::Security, CheckCategory::Config}) {
    text.append("\n").append(name_of(category)).append("\n");
    for (const Check& check : checks) {
      if (check.category != category || !check.cause.empty()) continue;
      text.append("  ").append(mark(check.status)).append(" ").append(check.name);
      text.append(": ").append(sanitize(check.message)).append("\n");
      if (check.cure.empty()) continue;
      text.append("         ").append(sanitize(check.cure)).append("\n");
      text.append(dependents(checks, check));
    }
  }
  std::vector<Check> told;
  std::ranges::copy_if(checks, std::back_inserter(told),
                       [](const Check& check) { return check.cause.empty(); });
  const Count result = count(told);
  text.append("\nSummary: ").append(std::to_string(result.passed)).append(" passed, ");
  text.append(std::to_string(result.warnings)).append(" warning(s), ");
  return text.append(std::to_string(result.failed)).append(" failed\n");
}

std::string doctor_hints(const std::vector<Check>& checks) {
  std::string text;
  for (const Check& check : checks) {
    if (check.status == CheckStatus::Pass || !check.cause.empty()) continue;
    text.append(check.name).append(": ").append(sanitize(check.cure)).append("\n");
  }
  return text;
}

std::string doctor_json(const HostAccount& account, const std::vector<Check>& checks,
                        const Result<Capabilities>& capabilities) {
  NodeList list;
  for (const Check& check : checks) list.push_back(check_node(check));
  const Count result = count(checks);
  Node summary{NodeMap{}};
  summary.set("passed", std::uint64_t{result.passed});
  summary.set("warnings", std::uint64_t{result.warnings});
  summary.set("failed", std::uint64_t{result.failed});
  Node node{NodeMap{}};
  node.set("schema", "cordon.doctor/1");
  node.set("host", host_node(account));
  node.set("checks", std::move(list));
  node.set("summary", std::move(summary));
  node.set("kernel", kernel_node(account));
  node.set("capabilities", capabilities_node(capabilities));
  return write_json(node, JsonStyle::Pretty) + "\n";
}

}  // namespace cordon
