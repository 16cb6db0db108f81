#include "plan/limits.h"

#include <algorithm>

#include "base/path.h"
#include "policy/http_rules.h"

namespace cordon {
namespace {

std::optional<LimitBy> by_cgroup(const CgroupFacts& cgroup, const std::string& controller) {
  if (!cgroup.parents.contains(controller)) return std::nullopt;
  switch (cgroup.version) {
    case CgroupFacts::Version::None:
      return std::nullopt;
    case CgroupFacts::Version::V1:
      return LimitBy::CgroupV1;
    case CgroupFacts::Version::V2:
      return LimitBy::CgroupV2;
  }
  return std::nullopt;
}

Error needs_cgroup(const std::string& limit, const std::string& why) {
  return {.kind = ErrorKind::Unsupported,
          .what = "limit " + limit + " needs a cgroup here: " + why,
          .hint = "mount a cgroup hierarchy this user may write, or remove the limit"};
}

}  // namespace

Result<LimitPlan> plan_limits(const Limits& limits, const NetRules& net, const HostFacts& facts,
                              std::uint32_t uid) {
  LimitPlan plan;
  // A core dump would carry the command's memory out through the host's core pattern.
  plan.resource_limits.push_back({"core", 0});
  if (limits.wall_ms) plan.planned.push_back({"wall", *limits.wall_ms, LimitBy::Clock});
  if (limits.cpu_ms) {
    plan.planned.push_back({"cpu", *limits.cpu_ms, LimitBy::Rlimit});
    plan.resource_limits.push_back(
        {"cpu", std::max<std::uint64_t>(1, (*limits.cpu_ms + 999) / 1000)});
  }
  if (limits.memory) {
    if (const auto by = by_cgroup(facts.cgroup, "memory")) {
      plan.planned.push_back({"memory", *limits.memory, *by});
    } else {
      // No RLIMIT_DATA beside the watch: it bounds what a process reserves, not what it uses, and
      // so ends programs that reserve much and use little, such as every sanitizer's.
      plan.planned.push_back({"memory", *limits.memory, LimitBy::Watch});
    }
  }
  if (limits.pids) {
    if (const auto by = by_cgroup(facts.cgroup, "pids")) {
      plan.planned.push_back({"pids", *limits.pids, *by});
    } else if (uid == 0) {
      // RLIMIT_NPROC does not bind uid 0.
      plan.planned.push_back({"pids", *limits.pids, LimitBy::Watch});
    } else {
      plan.planned.push_back({"pids", *limits.pids, LimitBy::Rlimit});
      plan.resource_limits.push_back({"nproc", *limits.pids});
    }
  }
  if (limits.cpus_milli) {
    const auto by = by_cgroup(facts.cgroup, "cpu");
    if (!by) return fail(needs_cgroup("cpus", "nothing else can share out processor time"));
    plan.planned.push_back({"cpus", *limits.cpus_milli, *by});
  }
  // Landlock's rules, the filter and their proofs take that many before the command is there.
  constexpr std::uint64_t kFewestFiles = 16;
  if (limits.files && *limits.files < kFewestFiles) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "limits.files = " + std::to_string(*limits.files) + ": a sandbox needs " +
                         std::to_string(kFewestFiles) + " open files to confine a command",
                 .hint = "--files " + std::to_string(kFewestFiles) +
                         " or more, or the same below [limits] of the policy or ceiling"});
  }
  if (limits.files) {
    plan.planned.push_back({"files", *limits.files, LimitBy::Rlimit});
    plan.resource_limits.push_back({"nofile", *limits.files});
  }
  if (limits.file_size) {
    plan.planned.push_back({"file_size", *limits.file_size, LimitBy::Rlimit});
    plan.resource_limits.push_back({"fsize", *limits.file_size});
  }
  if (limits.output) plan.planned.push_back({"output", *limits.output, LimitBy::Relay});
  if (limits.output_total) {
    plan.planned.push_back({"output_total", *limits.output_total, LimitBy::Relay});
  }
  const bool counts_connections = limits.connections || limits.sent;
  if (counts_connections && net.mode == NetMode::Open) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "connections cannot be counted with network mode open by native",
                 .hint = "name the hosts with --allow, or remove limits.connections and "
                         "limits.sent"});
  }
  if ((limits.requests || limits.request_traffic) && net.mode == NetMode::Open) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what =
                     "requests cannot be counted with network mode open: nothing of them passes "
                     "through Cordon",
                 .hint = "name the requests with --http, or remove limits.requests and "
                         "limits.request_traffic"});
  }
  // Without a way out they hold by themselves.
  if (limits.connections && net.mode == NetMode::Allow) {
    plan.planned.push_back({"connections", *limits.connections, LimitBy::Broker});
  }
  if (limits.sent && net.mode == NetMode::Allow) {
    plan.planned.push_back({"sent", *limits.sent, LimitBy::Watch});
  }
  if (!judges_requests(net)) return plan;
  if (limits.requests) plan.planned.push_back({"requests", *limits.requests, LimitBy::Gate});
  if (limits.request_traffic) {
    plan.planned.push_back({"request_traffic", *limits.request_traffic, LimitBy::Gate});
  }
  return plan;
}

bool lacks_required_cgroup(const Effective& effective, const HostFacts& facts) {
  const auto has = [](const std::vector<Layer>& layers) {
    return std::ranges::find(layers, Layer::Cgroup) != layers.end();
  };
  if (!has(effective.require) || has(effective.accept_missing)) return false;
  const Limits& limits = effective.limits;
  return facts.cgroup.version == CgroupFacts::Version::None ||
         (limits.memory && !by_cgroup(facts.cgroup, "memory")) ||
         (limits.pids && !by_cgroup(facts.cgroup, "pids"));
}

std::vector<Loss> landlock_losses(int abi) {
  if (abi <= 0) return {Loss::LandlockFiles, Loss::LandlockScopes};
  std::vector<Loss> lost;
  if (abi < kAbiWithRefer) lost.push_back(Loss::LandlockRefer);
  if (abi < kAbiWithTruncate) lost.push_back(Loss::LandlockTruncate);
  if (abi < kAbiWithIoctl) lost.push_back(Loss::LandlockIoctl);
  if (abi < kAbiWithScopes) lost.push_back(Loss::LandlockScopes);
  return lost;
}

std::vector<Loss> namespace_losses(NetMode net) {
  std::vector<Loss> lost = {Loss::Metadata, Loss::Processes, Loss::Accounts, Loss::Scratch};
  if (net != NetMode::Open) lost.push_back(Loss::Loopback);
  return lost;
}

std::vector<Loss> limit_losses(const std::vector<PlannedLimit>& limits) {
  std::vector<Loss> lost;
  for (const PlannedLimit& limit : limits) {
    if (limit.by != LimitBy::Watch) continue;
    if (limit.name == "memory") lost.push_back(Loss::MemoryBurst);
    if (limit.name == "pids") lost.push_back(Loss::ProcessBurst);
  }
  return lost;
}

std::vector<Loss> general_losses(const Effective& effective, const HostFacts& facts) {
  std::vector<Loss> lost{Loss::InFlight};
  const auto anywhere = [](const DenyGlob& rule) {
    return rule.anchor.empty() || rule.pattern.find_first_of("/") != std::string::npos ||
           rule.pattern == "**";
  };
  const auto writable = [&](const DenyGlob& rule) {
    return std::ranges::any_of(effective.write, [&](const Grant& grant) {
      return contains(grant.path, rule.anchor) || contains(rule.anchor, grant.path);
    });
  };
  const bool grants = !effective.read.empty() || !effective.write.empty();
  const bool denied = grants && std::ranges::any_of(effective.deny, [&](const DenyGlob& rule) {
                        return anywhere(rule) || writable(rule);
                      });
  if (denied || !facts.unlisted.empty()) lost.push_back(Loss::Appearing);
  return lost;
}

void lose(Plan& plan, const std::vector<Loss>& more) {
  plan.lost.insert(plan.lost.end(), more.begin(), more.end());
}

}  // namespace cordon
