#include "backend/mxc/identity.h"

#include <unistd.h>

#include "backend/native/launch_parts.h"
#include "backend/native/prepared.h"

namespace cordon::mxc {

Identity identity_of(const Plan& plan) {
  const native::Prepared prepared = native::prepare(plan, ::geteuid());
  return {prepared.uid_map, prepared.gid_map, prepared.map_by == native::MapBy::Supervisor};
}

Result<void> map_identity(pid_t keeper, const Identity& identity) {
  if (::geteuid() != 0) CORDON_CHECK(native::write_map(keeper, "setgroups", "deny"));
  CORDON_CHECK(native::write_map(keeper, "uid_map", identity.uid_map));
  return native::write_map(keeper, "gid_map", identity.gid_map);
}

}  // namespace cordon::mxc
