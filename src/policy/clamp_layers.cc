#include <array>

#include "policy/clamp_parts.h"

namespace cordon::detail {
namespace {

template <typename Layers>
bool has(const Layers& layers, Layer layer) {
  return std::find(layers.begin(), layers.end(), layer) != layers.end();
}

// A ceiling that both requires a layer and accepts its absence is held to the stricter.
bool accepts_missing(const Ceiling& ceiling, Layer layer) {
  return has(ceiling.policy.require.accept_missing, layer) &&
         !has(ceiling.policy.require.layers, layer);
}

constexpr std::array kLayers{Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                             Layer::Capabilities, Layer::Cgroup};

void clamp_backends(Ceilings ceilings, Effective& result) {
  for (const ResolvedCeiling& ceiling : ceilings) {
    const auto& named = ceiling.ceiling.policy.require.backends;
    if (!named) continue;
    std::vector<BackendKind> both;
    for (const BackendKind kind : kBackendKinds) {
      const bool before =
          !result.backends || std::ranges::find(*result.backends, kind) != result.backends->end();
      if (before && std::ranges::find(*named, kind) != named->end()) both.push_back(kind);
    }
    result.backends = std::move(both);
  }
}

}  // namespace

void clamp_layers(const Resolved& request, Ceilings ceilings, Effective& result) {
  result.require = request.policy.require.layers;
  for (const ResolvedCeiling& ceiling : ceilings) {
    const auto& layers = ceiling.ceiling.policy.require.layers;
    result.require.insert(result.require.end(), layers.begin(), layers.end());
  }
  sort_unique(result.require);
  clamp_backends(ceilings, result);
  if (ceilings.empty()) return;
  for (const Layer layer : kLayers) {
    const bool accepted = std::all_of(
        ceilings.begin(), ceilings.end(),
        [&](const ResolvedCeiling& ceiling) { return accepts_missing(ceiling.ceiling, layer); });
    if (accepted) result.accept_missing.push_back(layer);
  }
  auto& missing = result.accept_missing;
  if (has(missing, Layer::Namespaces) && has(missing, Layer::Landlock) &&
      has(missing, Layer::Seccomp) && has(missing, Layer::Capabilities)) {
    std::erase(missing, Layer::Landlock);
    std::erase(missing, Layer::Seccomp);
  }
}

}  // namespace cordon::detail
