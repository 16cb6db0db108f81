// clamp: the meet of a request and every ceiling. The result is never wider than any of them, and
// everything taken away is reported with its reason.
#pragma once

#include <span>
#include <vector>

#include "policy/effective.h"

namespace cordon {

// Only clamp() makes one, and only a Clamped can be planned: no path to the kernel goes round it.
class Clamped {
 public:
  [[nodiscard]] const Effective& effective() const { return effective_; }
  [[nodiscard]] const std::vector<Reduction>& reductions() const { return reductions_; }
  // Of the request and of every ceiling: a run that could choose where one of them leads would
  // widen the next.
  [[nodiscard]] const std::vector<NamedPath>& named() const { return named_; }

 private:
  friend Result<Clamped> clamp(const Resolved& request, std::span<const ResolvedCeiling> ceilings);
  Clamped() = default;
  Effective effective_;
  std::vector<Reduction> reductions_;
  std::vector<NamedPath> named_;
};

// Pure: no file is looked at, no clock read. With no ceiling the result is the request itself,
// less what is never granted: a writable "/", and loader variables.
//
// - Paths: the longest rule decides what a path is, in a request as in a ceiling; one path in both
//   lists is read-only. A path is readable (writable) in the result exactly if it is so in the
//   request and in every ceiling. System and toolchain entries yield to any rule that covers them.
// - Names: a ceiling's [env] permits the names in `pass` and the keys of `set`; the values in `set`
//   only permit the name, they are not imposed.
// - Layers: required is what anyone requires. A layer may be missing only if every ceiling that
//   counts accepts that, whoever requires it, and never all of namespaces, Landlock, seccomp and
//   capabilities: then Landlock and seccomp stay.
//
// Errors are for what is not worth reducing (policy/refusal.h): an option of the command line that
// cannot be granted in full, and a place to start in of which nothing is left. So a reduction of
// what an option asked for never reaches a launch.
Result<Clamped> clamp(const Resolved& request, std::span<const ResolvedCeiling> ceilings);

}  // namespace cordon
