// The caller's variables under `cordon srt`. sandbox-runtime passes all of them on; here what loads
// or starts something, what may hold a secret and what leads past the sandbox is left out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "policy/host_facts.h"

namespace cordon::srt {

struct Variables {
  std::vector<std::string> passed;
  // Name, and why with what passes it all the same. Those that every sandbox has of its own are in
  // neither list.
  std::vector<std::pair<std::string, std::string>> left_out;
};
Variables variables_of(const Caller& caller);

}  // namespace cordon::srt
