// EncodedPlan: what a supervisor gives to the first process that bubblewrap executes for it,
// through a sealed descriptor. Only the part of a plan that is carried out or checked inside.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plan/plan.h"
#include "sandbox/native/prepared.h"
#include "sandbox/native/protocol.h"
#include "sandbox/native/sandbox_init.h"

namespace cordon::bwrap {

struct EncodedPlan {
  Plan plan;  // build, confine, seal, limits, argv, candidates and environment
  native::SandboxInitFds fds{};
  native::NamespaceIds outside{};  // of the supervisor: not to be found inside
  std::uint32_t mask = 0;          // the caller's umask, which the command gets
  bool terminal = false;
  std::uint16_t rows = 0;
  std::uint16_t columns = 0;
};

std::string encode(const EncodedPlan& encoded_plan);
// Nothing unless the text is exactly what encode() makes.
std::optional<EncodedPlan> decode(std::string_view text);

}  // namespace cordon::bwrap
