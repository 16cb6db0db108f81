// Prepared: a plan turned into the arrays the kernel wants, made before the clone so that nothing
// between clone and exec allocates.
#pragma once

#include <linux/filter.h>
#include <sys/ioctl.h>

#include <array>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "sandbox/backend.h"

namespace cordon::native {

// Who writes the id maps. The supervisor can where it is root, and then the first process may drop
// its supplementary groups; anyone else can only map itself, from inside.
enum class MapBy { FirstProcess, Supervisor };

// Of a StagedTree: the host's directory, the upper, the work directory and the steady layer.
inline constexpr std::size_t kStageSources = 4;

struct Prepared {
  const Plan* plan = nullptr;
  std::vector<sock_filter> filter;
  std::vector<char*> argv;
  std::vector<char*> environment;
  std::vector<const char*> candidates;
  std::string uid_map;
  std::string gid_map;
  MapBy map_by = MapBy::FirstProcess;
  bool becomes_owner = false;  // the identity that is mapped is not the caller's own
  // For that: the sources of all mounts, in their order, opened while the first process is still
  // the caller. The memory is made before the clone and filled after it.
  mutable std::vector<int> early_sources;
  // The private places on the scratch tmpfs whose content is told at the end, by GonePlace.
  std::array<const char*, kGonePlaces> places{};
  const char* scratch = nullptr;         // a path inside on the scratch tmpfs, to see it full
  std::uint64_t process_bound = 0;       // processes allowed by RLIMIT_NPROC; 0 if a cgroup counts
  std::uint64_t cpu_seconds = 0;         // processor time allowed by RLIMIT_CPU; 0: no limit
  bool file_size_bound = false;          // RLIMIT_FSIZE is set
  bool watch_memory = false;             // no cgroup counts what the sandbox's ipc namespace holds
  bool shares_host = false;              // the plan enters no namespaces
  bool refuse_tcp = false;               // Landlock refuses to bind and connect
  bool allows_hosts = false;             // network mode allow
  const char* landlock_probe = nullptr;  // a file that no rule names
  std::size_t groups = 0;                // v1 groups that the command is to join
  bool terminal = false;                 // the command gets a pty of the sandbox's own
  winsize window{};                      // and its size
};

Prepared prepare(const Plan& plan, std::uint32_t outside_uid);

}  // namespace cordon::native
