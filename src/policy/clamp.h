// clamp: the intersection of a request and every ceiling. The result is never wider than any of
// them, and everything taken away is reported with its reason.
#pragma once

#include <algorithm>
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
// - Backends: what every ceiling that names some names; it may be none of them.
//
// Errors are for what is not worth reducing (policy/refusal.h): an option of the command line that
// cannot be granted in full, and a place to start in of which nothing is left. So a reduction of
// what an option asked for never reaches a launch.
Result<Clamped> clamp(const Resolved& request, std::span<const ResolvedCeiling> ceilings);

// Whether the ceiling lets a variable of that name inside.
bool permits_variable(const Ceiling& ceiling, const std::string& name);

}  // namespace cordon

namespace cordon::detail {

// The dimensions of clamp(), one function each. Every one writes its part of the effective policy
// and appends what it took away. Private to the clamp.

using Ceilings = std::span<const ResolvedCeiling>;
using Reductions = std::vector<Reduction>;

void clamp_paths(const Resolved& request, Ceilings ceilings, Effective& result,
                 Reductions& reductions);
// Denies accumulate; private parts of the view (scratch, home, caches), trust in tracked files and
// staging take the stricter.
void clamp_view(const Resolved& request, Ceilings ceilings, Effective& result,
                Reductions& reductions);
void clamp_net(const Resolved& request, Ceilings ceilings, Effective& result,
               Reductions& reductions);
// The definitions that the rules for requests refer to; a rule whose secret nobody defines loses
// it.
void clamp_secrets(const Resolved& request, Ceilings ceilings, Effective& result,
                   Reductions& reductions);
bool permits_socket(const ResolvedCeiling& ceiling, const Grant& socket);
void clamp_sockets(const Resolved& request, Ceilings ceilings, Effective& result,
                   Reductions& reductions);
void clamp_env(const Resolved& request, Ceilings ceilings, Effective& result,
               Reductions& reductions);
void clamp_limits(const Resolved& request, Ceilings ceilings, Effective& result,
                  Reductions& reductions);
void clamp_layers(const Resolved& request, Ceilings ceilings, Effective& result);
// Names that anybody protects are protected; one is released only if every ceiling releases it.
void clamp_protect(const Resolved& request, Ceilings ceilings, Effective& result);
// A login is shared only if every ceiling says so, for this agent or for any.
void clamp_agent(const Resolved& request, Ceilings ceilings, Effective& result,
                 Reductions& reductions);

template <typename T>
void sort_unique(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace cordon::detail
