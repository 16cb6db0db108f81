// Who the executor is in the keeper's user namespace: never root, and in no group but one.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "plan/plan.h"

namespace cordon::mxc {

struct Identity {
  std::string uid_map;
  std::string gid_map;
  bool drop_groups = false;  // root has others than its own, which the keeper gives up
};
Identity identity_of(const Plan& plan);

// Done by the supervisor: the keeper has capabilities in its own namespace alone.
Result<void> map_identity(pid_t keeper, const Identity& identity);

}  // namespace cordon::mxc
