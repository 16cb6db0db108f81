// What an OCI runtime starts as the first process of a container that it made from a bundle of a
// run (compat/engine/runtime_backend.h): it makes sure that the container shows what was judged,
// and is native's first process from there on. It has no capability, so that nothing is mounted
// here.
#pragma once

namespace cordon::bundle {

// The word behind `cordon-inside`.
inline constexpr const char* kRunInside = "bundle";

// The runtime passes descriptors on from number 3 on: the EncodedPlan first.
inline constexpr int kHandedFd = 3;
inline constexpr int kFirstStreamFd = 4;  // in, out, err, the channel and the release pipe
inline constexpr int kPassedFds = 6;

// Where the bundle shows a file that no Landlock rule names.
inline constexpr const char* kProbeInside = "/.cordon/plan";

// Returns only if there is nobody to tell.
int begin_in_container();

}  // namespace cordon::bundle
