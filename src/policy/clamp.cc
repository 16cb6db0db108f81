#include "policy/clamp.h"

#include <array>
#include <tuple>

#include "base/text.h"
#include "policy/environment.h"
#include "policy/presets.h"
#include "policy/refusal.h"

namespace cordon {

Result<Clamped> clamp(const Resolved& request, std::span<const ResolvedCeiling> ceilings) {
  Clamped clamped;
  Effective& result = clamped.effective_;
  std::vector<Reduction>& reductions = clamped.reductions_;
  result.name = request.policy.name;
  reductions = request.reductions;
  clamped.named_ = request.named;
  for (const ResolvedCeiling& ceiling : ceilings) {
    clamped.named_.insert(clamped.named_.end(), ceiling.named.begin(), ceiling.named.end());
  }
  detail::clamp_protect(request, ceilings, result);
  detail::clamp_paths(request, ceilings, result, reductions);
  detail::clamp_view(request, ceilings, result, reductions);
  detail::clamp_net(request, ceilings, result, reductions);
  detail::clamp_secrets(request, ceilings, result, reductions);
  detail::clamp_sockets(request, ceilings, result, reductions);
  detail::clamp_env(request, ceilings, result, reductions);
  detail::clamp_limits(request, ceilings, result, reductions);
  detail::clamp_layers(request, ceilings, result);
  detail::clamp_agent(request, ceilings, result, reductions);
  if (auto refused = refusal_of(request, ceilings, result, reductions)) {
    return fail(*std::move(refused));
  }
  return clamped;
}

bool permits_variable(const Ceiling& ceiling, const std::string& name) {
  if (!ceiling.bounds_env) return true;
  const EnvRules& env = ceiling.policy.env;
  return env.set.contains(name) ||
         std::find(env.pass.begin(), env.pass.end(), name) != env.pass.end();
}

}  // namespace cordon

namespace cordon::detail {

void clamp_agent(const Resolved& request, Ceilings ceilings, Effective& result,
                 Reductions& reductions) {
  const AgentRules& asked = request.policy.agent;
  result.agent = asked;
  if (!asked.share_login) return;
  const auto permits = [&](const ResolvedCeiling& ceiling) {
    const AgentRules& bound = ceiling.ceiling.policy.agent;
    return bound.share_login && (bound.name.empty() || bound.name == asked.name);
  };
  if (std::all_of(ceilings.begin(), ceilings.end(), permits)) return;
  result.agent.share_login.reset();
  reductions.push_back(
      {"share_login", asked.name, std::nullopt, Reduction::Because::OutsideCeiling});
}

namespace {

using Because = Reduction::Because;

std::optional<Because> refused(const std::string& name, Ceilings ceilings) {
  if (!is_valid_variable_name(name)) return Because::Malformed;
  if (is_loader_variable(name)) return Because::Forbidden;
  for (const ResolvedCeiling& ceiling : ceilings) {
    if (!permits_variable(ceiling.ceiling, name)) return Because::OutsideCeiling;
  }
  return std::nullopt;
}

Origin variable_origin(const Resolved& request, const std::string& name) {
  const auto& names = request.policy.options.env;
  return std::find(names.begin(), names.end(), name) != names.end() ? Origin::Option
                                                                    : Origin::Document;
}

}  // namespace

void clamp_env(const Resolved& request, Ceilings ceilings, Effective& result,
               Reductions& reductions) {
  // The option that would pass it is refused as well.
  for (Reduction& reduction : reductions) {
    if (reduction.because != Because::Login) continue;
    reduction.because = refused(reduction.asked, ceilings).value_or(Because::Login);
  }
  for (const std::string& name : request.policy.env.pass) {
    if (const auto because = refused(name, ceilings)) {
      reductions.push_back({"env", name, std::nullopt, *because, variable_origin(request, name)});
    } else {
      result.env.pass.push_back(name);
    }
  }
  sort_unique(result.env.pass);
  for (const auto& [name, value] : request.policy.env.set) {
    auto because = refused(name, ceilings);
    // A NUL would cut the value short without a word.
    if (!because && value.find('\0') != std::string::npos) because = Because::Malformed;
    if (because) {
      reductions.push_back({"env", name, std::nullopt, *because, variable_origin(request, name)});
    } else {
      result.env.set.emplace(name, value);
    }
  }
}

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

void clamp_limits(const Resolved& request, Ceilings ceilings, Effective& result,
                  Reductions& reductions) {
  for (const LimitField& field : limit_fields()) {
    const auto& asked = request.policy.limits.*field.member;
    auto& value = result.limits.*field.member;
    value = asked;
    for (const ResolvedCeiling& ceiling : ceilings) {
      const auto& bound = ceiling.ceiling.policy.limits.*field.member;
      if (bound) value = value ? std::min(*value, *bound) : *bound;
    }
    if (!asked || value == asked) continue;
    const auto& keys = request.policy.options.limits;
    const bool option = std::find(keys.begin(), keys.end(), field.key) != keys.end();
    reductions.push_back({"limits." + std::string(field.key), format_limit(field.unit, *asked),
                          format_limit(field.unit, *value), Reduction::Because::Narrowed,
                          option ? Origin::Option : Origin::Document});
  }
}

void clamp_protect(const Resolved& request, Ceilings ceilings, Effective& result) {
  ProtectRules& protect = result.protect;
  protect.add = request.policy.protect.add;
  for (const ResolvedCeiling& ceiling : ceilings) {
    const ProtectRules& rules = ceiling.ceiling.policy.protect;
    protect.add.insert(protect.add.end(), rules.add.begin(), rules.add.end());
  }
  sort_unique(protect.add);
  // A request releases nothing, whatever it holds: only operators say what the host may run.
  if (ceilings.empty()) return;
  protect.release = ceilings.front().ceiling.policy.protect.release;
  sort_unique(protect.release);
  std::erase_if(protect.release, [&](const std::string& name) {
    const auto lacks = [&](const ResolvedCeiling& ceiling) {
      const auto& released = ceiling.ceiling.policy.protect.release;
      return std::find(released.begin(), released.end(), name) == released.end();
    };
    return std::any_of(ceilings.begin(), ceilings.end(), lacks) ||
           std::binary_search(protect.add.begin(), protect.add.end(), name);
  });
}

bool permits_socket(const ResolvedCeiling& ceiling, const Grant& socket) {
  if (!ceiling.ceiling.bounds_net) return true;
  return std::any_of(ceiling.sockets.begin(), ceiling.sockets.end(), [&](const Grant& listed) {
    return listed.path == socket.path && listed.id == socket.id;
  });
}

void clamp_sockets(const Resolved& request, Ceilings ceilings, Effective& result,
                   Reductions& reductions) {
  for (const Grant& socket : request.sockets) {
    const bool permitted = std::all_of(
        ceilings.begin(), ceilings.end(),
        [&](const ResolvedCeiling& ceiling) { return permits_socket(ceiling, socket); });
    if (permitted) {
      result.sockets.push_back(socket);
    } else {
      reductions.push_back({"sockets", socket.written, std::nullopt,
                            Reduction::Because::OutsideCeiling, socket.origin});
    }
  }
  std::sort(result.sockets.begin(), result.sockets.end(),
            [](const Grant& a, const Grant& b) { return a.path < b.path; });
  const auto same = [](const Grant& a, const Grant& b) { return a.path == b.path; };
  result.sockets.erase(std::unique(result.sockets.begin(), result.sockets.end(), same),
                       result.sockets.end());
}

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
