// Cordon's own program inside an executor's sandbox: it confines itself as the plan says, tells the
// supervisor, waits to be measured from outside and released, and becomes the command.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plan/plan.h"

namespace cordon::mxc {

// The view in which an executor runs: native's, built by the init. No allocation.

// Carries out the operations of `plan` up to the executor's. 0, or -errno; `index` is then that of
// the operation that failed.
int build_view(const Plan& plan, std::uint32_t& index);

// What Cordon's own program gets inside an executor's sandbox: the part of the plan that it carries
// out itself. It travels in sealed memory by an inherited descriptor, so that neither the command
// nor its environment is on anybody's command line.

// Descriptors that go through the executor to the program inside; mxc_plan.cc names kSelfFd.
inline constexpr int kDocumentFd = 40;
inline constexpr int kSelfFd = 41;
inline constexpr int kPlanFd = 42;
inline constexpr int kReportFd = 43;
inline constexpr int kReleaseFd = 44;
inline constexpr int kFirstGroupFd = 45;

// The word that starts the program inside.
inline constexpr std::string_view kInsideVerb = "executor-inside";

struct InsidePlan {
  // Landlock rules, the operations of the command's process, argv, candidates, environment; no
  // other part of a plan.
  Plan plan;
  bool terminal = false;  // the streams are one
};
std::string encode_inside_plan(const Plan& plan, bool terminal);
// Nothing for anything that encode_inside_plan did not write.
std::optional<InsidePlan> decode_inside_plan(std::string_view bytes);

// Returns only with a failure, as an exit status; nothing of the command ran then.
int run_inside();

}  // namespace cordon::mxc
