#include "sandbox/native/prepared.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <variant>

#include "sandbox/native/build.h"
#include "sandbox/native/cgroup.h"
#include "sandbox/native/seccomp_filter.h"

namespace cordon::native {
namespace {

// The kernel takes char* for historical reasons and does not write through it.
char* argument(const std::string& text) { return const_cast<char*>(text.c_str()); }

bool has_other_groups() {
  std::array<gid_t, 8> groups{};
  const int count = ::getgroups(static_cast<int>(groups.size()), groups.data());
  if (count < 0) return true;  // more than fit
  return std::any_of(groups.begin(), groups.begin() + count,
                     [](gid_t group) { return group != ::getegid(); });
}

// How many directories or files of the host an operation mounts.
std::size_t sources_of(const Op& operation) {
  if (std::holds_alternative<op::StagedTree>(operation)) return kStageSources;
  return std::holds_alternative<op::Bind>(operation) ||
                 std::holds_alternative<op::PrivateCopy>(operation)
             ? 1
             : 0;
}

}  // namespace

Prepared prepare(const Plan& plan, std::uint32_t outside_uid) {
  Prepared prepared;
  prepared.plan = &plan;
  for (const Op& operation : plan.confine) {
    if (const auto* limit = std::get_if<op::ResourceLimit>(&operation)) {
      if (limit->name == "cpu") prepared.cpu_seconds = limit->value;
      if (limit->name == "fsize") prepared.file_size_bound = true;
    }
    if (const auto* seccomp = std::get_if<op::InstallSeccomp>(&operation)) {
      prepared.shares_host = seccomp->shares_host;
      // What may be reached is connected by the supervisor, outside of the command's domain.
      prepared.refuse_tcp = seccomp->shares_host && seccomp->net != NetMode::Open;
      prepared.allows_hosts = seccomp->net == NetMode::Allow;
      prepared.filter =
          compile_filter(native_arch(), {seccomp->net, seccomp->brokered, seccomp->shares_host,
                                         seccomp->staged, seccomp->watched});
    }
  }
  for (const std::string& text : plan.argv) prepared.argv.push_back(argument(text));
  prepared.argv.push_back(nullptr);
  for (const std::string& text : plan.environment) prepared.environment.push_back(argument(text));
  prepared.environment.push_back(nullptr);
  for (const std::string& text : plan.candidates) prepared.candidates.push_back(text.c_str());
  prepared.groups = v1_groups(plan);
  for (const PlannedLimit& limit : plan.limits) {
    if (limit.name == "pids" && limit.by == LimitBy::Rlimit) prepared.process_bound = limit.value;
    if (limit.name == "memory" && limit.by == LimitBy::Watch) prepared.watch_memory = true;
  }
  for (const Op& operation : plan.build) {
    if (const auto* scratch = std::get_if<op::ScratchDirectory>(&operation)) {
      if (prepared.scratch == nullptr) prepared.scratch = scratch->path.c_str();
      for (std::size_t i = 0; i < kGonePlaces; ++i)
        if (scratch->name == kGonePlaceNames[i]) prepared.places[i] = scratch->path.c_str();
    }
    if (const auto* map = std::get_if<op::MapIdentity>(&operation)) {
      prepared.uid_map =
          std::to_string(map->inside_uid) + " " + std::to_string(map->outside_uid) + " 1";
      prepared.gid_map =
          std::to_string(map->inside_gid) + " " + std::to_string(map->outside_gid) + " 1";
      prepared.becomes_owner = outside_uid == 0 && map->outside_uid != 0;
    }
  }
  prepared.landlock_probe = prepared.shares_host ? "/proc/self/status" : kLandlockProbe;
  if (prepared.shares_host) {
    // The host's processes and its ipc objects are not the sandbox's to count, and no id is mapped.
    prepared.process_bound = 0;
    prepared.watch_memory = false;
    return prepared;
  }
  // Root has groups to drop only if it has other ones than its own, and only the supervisor can map
  // another id than the first process's.
  prepared.map_by = prepared.becomes_owner || (outside_uid == 0 && has_other_groups())
                        ? MapBy::Supervisor
                        : MapBy::FirstProcess;
  if (prepared.becomes_owner) {
    std::size_t sources = 0;
    for (const Op& operation : plan.build) sources += sources_of(operation);
    prepared.early_sources.assign(sources, -1);
  }
  return prepared;
}

}  // namespace cordon::native
