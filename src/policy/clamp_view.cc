#include <tuple>

#include "base/text.h"
#include "policy/clamp_parts.h"

namespace cordon::detail {
namespace {

using Because = Reduction::Because;

void clamp_denies(const Resolved& request, Ceilings ceilings, Effective& result) {
  result.deny = request.deny;
  for (const ResolvedCeiling& ceiling : ceilings) {
    result.deny.insert(result.deny.end(), ceiling.deny.begin(), ceiling.deny.end());
  }
  const auto key = [](const DenyGlob& deny) {
    return std::tie(deny.anchor, deny.pattern, deny.written);
  };
  std::sort(result.deny.begin(), result.deny.end(),
            [&](const DenyGlob& a, const DenyGlob& b) { return key(a) < key(b); });
  const auto same = [](const DenyGlob& a, const DenyGlob& b) {
    return a.anchor == b.anchor && a.pattern == b.pattern;
  };
  result.deny.erase(std::unique(result.deny.begin(), result.deny.end(), same), result.deny.end());
}

void clamp_scratch(const Resolved& request, Ceilings ceilings, Effective& result,
                   Reductions& reductions) {
  result.scratch = request.policy.fs.scratch;
  if (!result.scratch) return;
  for (const ResolvedCeiling& ceiling : ceilings) {
    const auto& bound = ceiling.ceiling.policy.fs.scratch;
    if (bound) result.scratch = std::min(*result.scratch, *bound);
  }
  if (result.scratch == request.policy.fs.scratch) return;
  reductions.push_back({"scratch", format_size(*request.policy.fs.scratch),
                        format_size(*result.scratch), Because::Narrowed,
                        request.policy.options.scratch ? Origin::Option : Origin::Document});
}

// A bound by which nobody loses anything but the way to write at once: it holds whatever the
// request says, and the person is told.
void clamp_stage(const Resolved& request, Ceilings ceilings, Effective& result,
                 Reductions& reductions) {
  const FsRules& asked = request.policy.fs;
  result.mode = asked.mode;
  result.stage = asked.stage;
  for (const ResolvedCeiling& ceiling : ceilings) {
    result.mode = std::min(result.mode, ceiling.ceiling.mode.value_or(result.mode));
    result.stage = std::min(result.stage, ceiling.ceiling.stage.value_or(result.stage));
  }
  if (result.mode != asked.mode) {
    reductions.push_back({"mode", std::string(name_of(asked.mode)),
                          std::string(name_of(result.mode)), Because::Narrowed});
  }
  // How a stage would end says nothing about a run that has none.
  if (result.stage == asked.stage || result.mode == WriteMode::Live) return;
  reductions.push_back({"stage", std::string(name_of(asked.stage)),
                        std::string(name_of(result.stage)), Because::Narrowed,
                        request.policy.options.stage ? Origin::Option : Origin::Document});
}

}  // namespace

void clamp_view(const Resolved& request, Ceilings ceilings, Effective& result,
                Reductions& reductions) {
  clamp_denies(request, ceilings, result);
  clamp_scratch(request, ceilings, result, reductions);
  clamp_stage(request, ceilings, result, reductions);
  result.home = request.policy.fs.home;
  result.caches = request.policy.fs.caches;
  result.trust_tracked = request.policy.fs.trust_tracked;
  for (const ResolvedCeiling& ceiling : ceilings) {
    result.home = std::min(result.home, ceiling.ceiling.home.value_or(result.home));
    result.caches = result.caches && ceiling.ceiling.caches.value_or(true);
    // No reduction: it is a default, and nobody asked for it.
    result.trust_tracked = result.trust_tracked && ceiling.ceiling.trust_tracked.value_or(true);
  }
  if (result.home != request.policy.fs.home) {
    reductions.push_back({"home", std::string(name_of(request.policy.fs.home)),
                          std::string(name_of(result.home)), Because::Narrowed});
  }
  if (result.caches != request.policy.fs.caches) {
    reductions.push_back({"caches", "true", std::nullopt, Because::OutsideCeiling});
  }
}

}  // namespace cordon::detail
