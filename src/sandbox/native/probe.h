// Probing by doing: each thing a native plan needs from the kernel is really done once, in a child
// that ends at once. Nothing is inferred from version numbers, from files that are there, or from
// the state of this process.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sandbox/backend.h"

namespace cordon::native {

struct Probe {
  std::string name;  // "mount-namespace"
  bool ok = false;
  std::string detail;    // what was found, or what was refused
  int error_number = 0;  // of the call that failed
};

// Every probe, in the order in which a launch meets them: user-namespace, identity-map,
// mount-namespace, pid-namespace, net-namespace, host-name, all-namespaces, fresh-proc, pivot-root,
// symlink-mount, no-new-privileges, landlock, seccomp, seccomp-listener.
std::vector<Probe> probe_kernel();
// Those that need no namespace: no-new-privileges, landlock, seccomp, seccomp-listener.
std::vector<Probe> probe_layers();

// Why native cannot be used on this host: the first probe that failed, and all of them for the
// cure.
struct Refusal {
  Probe probe;
  std::vector<Probe> probes;
};
// Absent if one child could do all that native's launch asks of the host before it looks at the
// policy: seven namespaces, the identity map, private mounts, a tmpfs, a fresh /proc, the host
// name, the pivot.
std::optional<Refusal> refused_by_host();

// True for what every native run needs; without the rest a run is merely less comfortable.
bool is_required(const Probe& probe);

// What a plan of native's, carried out by `kind` under these probes, enforces.
Capabilities capabilities_of(BackendKind kind, const std::vector<Probe>& probes);
Error refusal_of(const Probe& probe);

// The seccomp actions the running kernel knows: "kill-process", "errno", ...
struct SeccompAction {
  std::string name;
  bool available = false;
};
std::vector<SeccompAction> seccomp_actions();

}  // namespace cordon::native
