// What Cordon's own program gets inside an executor's sandbox: the part of the plan that it carries
// out itself. It travels in sealed memory by an inherited descriptor, so that neither the command
// nor its environment is on anybody's command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "plan/plan.h"

namespace cordon::mxc {

// Descriptors that go through the executor to the program inside; mxc_plan.cc names kSelfFd.
inline constexpr int kDocumentFd = 40;
inline constexpr int kSelfFd = 41;
inline constexpr int kOrdersFd = 42;
inline constexpr int kReportFd = 43;
inline constexpr int kReleaseFd = 44;
inline constexpr int kFirstGroupFd = 45;

// The word that starts the program inside.
inline constexpr std::string_view kInsideVerb = "executor-inside";

struct Orders {
  // Landlock rules, the operations of the command's process, argv, candidates, environment; no
  // other part of a plan.
  Plan plan;
  bool terminal = false;  // the streams are one
};
std::string pack_orders(const Plan& plan, bool terminal);
// Nothing for anything that pack_orders did not write.
std::optional<Orders> unpack_orders(std::string_view bytes);

}  // namespace cordon::mxc
