// The command's own process, from its clone to exec. No allocation, no lock, no return. It shares
// the memory of the first process until then, which waits whenever this one runs.
#pragma once

#include <sys/types.h>

#include <array>

#include "sandbox/native/build.h"
#include "sandbox/native/prepared.h"

namespace cordon::native {

struct CommandStart {
  int report = -1;                        // where it reports, a descriptor of the first process
  int ruleset = -1;                       // negative where Landlock is accepted as missing
  mode_t mask = 022;                      // the caller's
  std::array<int, kMostGroups> groups{};  // v1 groups to join; negative: none
};

[[noreturn]] void become_command(const Prepared& prepared, const CommandStart& start);

}  // namespace cordon::native
