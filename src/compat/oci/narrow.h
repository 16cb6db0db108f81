// The changed copy of an engine's config.json: what every container of Cordon's gets, whatever the
// engine asked for, and what the policy takes away. Pure: nothing of it is written here.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compat/oci/seccomp_profile.h"
#include "config/node.h"
#include "cordon/policy.h"
#include "policy/effective.h"

namespace cordon::oci {

// Something of the host that is bound over itself inside a writable bind.
struct HeldInside {
  std::string source;
  std::string destination;
  FileKind kind = FileKind::Regular;
  bool writable = false;  // only so that it cannot be renamed away
};

struct Narrowing {
  bool root_read_only = false;
  std::map<std::string, std::string> sources;  // by the place in the document, canonical
  std::vector<HeldInside> held;
  std::set<std::string> directories;  // inside, that are bound from the host
  std::vector<std::string> masked;    // inside
  Limits limits;
  std::optional<std::uint64_t> scratch;  // of each private file system in memory
  bool keeps_capabilities = false;       // those that engines give by themselves
  std::set<std::string> dropped_variables;
  ProfileNeeds profile;
};

Result<Node> narrowed_config(const Node& config, const Narrowing& narrowing);

// The same of a process that is started in a container later.
Node narrowed_process(const Node& process, const Narrowing& narrowing);

// Of an update, whose list of devices repeats the container's and is not needed.
Node update_without_devices(const Node& resources);

// Of `linux.resources`, as an update brings it: the first bound that it would lift; nothing: none.
std::optional<std::string> lifted_bound(const Node& resources, const Limits& limits);

}  // namespace cordon::oci
