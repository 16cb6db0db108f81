// OmittedLayer: what a test build of Cordon leaves out of a sandbox, and whether that is refused.
//
// The product has no switch that weakens it, so the omission is made by other means: these sources
// define the functions of src/backend that make a clone, carry out one operation, and compare what
// was measured, and stand before their namesakes when the test programs are linked. Each calls the
// product's own function for everything that is not to be left out.
//
//   CORDON_OMIT=landlock,masks    the layers to leave out, separated by commas
//   CORDON_OMIT_ACCEPT=1          the missing layer is not refused, so that it can be seen what it
//   held
//
// A sandbox that is accepted without a layer is dangerous, so it is started only where nothing of
// the host is in reach: in user, pid, ipc and uts namespaces that are not the machine's first.
// tests/ablation makes them. See docs/ablation.md.
#pragma once

#include <cstdint>

namespace cordon::omitted {

enum class OmittedLayer : std::uint32_t {
  // Steps of the plan.
  PivotRoot,
  Mounts,  // the grants: they are not there
  ReadOnly,
  NoSuid,  // of the grants
  Masks,
  Holds,
  Landlock,
  Seccomp,
  Broker,
  Capabilities,
  Bounding,  // the set that bounds what executing a file can give
  NoNewPrivileges,
  ResourceLimits,
  Cgroups,
  // Namespaces.
  User,
  Mount,
  Pid,
  Network,
  Ipc,
  Uts,
  Cgroup,
};

// Whether this process was told to leave it out. Ends the process if the environment names a layer
// that there is not.
bool leaves_out(OmittedLayer layer);

// Whether a sandbox without it is to be accepted. Ends the process in the machine's first
// namespaces.
bool accepts_omission();

// Ends the process in the machine's first namespaces if what it leaves out would let building the
// sandbox change the host: without a user namespace of its own a sysctl, without a mount namespace
// the mounts.
void refuse_to_change_the_host();

}  // namespace cordon::omitted
