// What bubblewrap is asked to do of a plan: the namespaces, the identity, a root on tmpfs with the
// system in it read-only, and every granted object of the host below one directory. From there the
// first process puts the objects in their places: bubblewrap has no private space that several
// directories share, and follows symlinks on the way to a target inside a grant.
#pragma once

#include <span>
#include <string>

#include "plan/plan.h"

namespace cordon::bwrap {

// Where the objects of the host wait, numbered in the order of their operations, until the first
// process has put them in their places.
inline constexpr std::string_view kBrought = "/.outside";
std::string brought_path(unsigned number);

// NUL-separated, for --args. `pins` are the descriptors of every op::Bind of an object that was
// judged, in the plan's order. A test program may bring its own (tests/omitted).
std::string arguments(const Plan& plan, std::span<const int> pins);

}  // namespace cordon::bwrap
