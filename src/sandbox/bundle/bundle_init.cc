#include "sandbox/bundle/bundle_init.h"

#include <unistd.h>

#include <cerrno>
#include <variant>

#include "sandbox/bwrap/inside.h"
#include "sandbox/native/container_init.h"

namespace cordon::bundle {
namespace {

// The runtime looked its names up anew: whoever can write where one of them leads could have put
// something else there since it was judged.
int attend(const Op& operation, const native::Prepared& prepared, native::BuildState& state) {
  if (!native::shows_what_was_judged(operation)) return -ESTALE;
  if (const auto* map = std::get_if<op::MapIdentity>(&operation)) {
    return ::getuid() == map->inside_uid && ::getgid() == map->inside_gid ? 0 : -EPERM;
  }
  const bool left_to_us = std::holds_alternative<op::LandlockAllow>(operation) ||
                          std::holds_alternative<op::OpenResolver>(operation);
  return left_to_us ? native::carry_out(operation, prepared, state) : 0;
}

}  // namespace

int begin_in_container() { return bwrap::begin_by(kHandedFd, attend, kProbeInside); }

}  // namespace cordon::bundle
