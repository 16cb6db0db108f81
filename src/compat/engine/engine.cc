#include "compat/engine/engine.h"

#include <algorithm>
#include <array>

#include "base/path.h"
#include "base/text.h"
#include "config/node.h"
#include "plan/codec.h"

namespace cordon {
namespace {

// The part of the private space that has copies of git configurations.
constexpr std::string_view kGitCopies = "git";

}  // namespace

std::string_view name_of(Engine engine) {
  switch (engine) {
    case Engine::Oci:
      return "oci";
    case Engine::Kube:
      return "kube";
    case Engine::Slurm:
      return "slurm";
  }
  return "";
}

std::string_view name_of(Carriage::How how) {
  switch (how) {
    case Carriage::How::Carried:
      return "carried";
    case Carriage::How::Weakened:
      return "weakened";
    case Carriage::How::Impossible:
      return "impossible";
  }
  return "";
}

void LossReport::carried(std::string key, std::string words) {
  account_.push_back({std::move(key), Carriage::How::Carried, std::move(words)});
}

void LossReport::weakened(std::string key, std::string words) {
  account_.push_back({std::move(key), Carriage::How::Weakened, std::move(words)});
}

void LossReport::left_out(std::string key, std::string words) {
  account_.push_back({std::move(key), Carriage::How::Impossible, std::move(words)});
}

void LossReport::cannot_hold(const std::string& key, const std::string& words) {
  const auto covers = [&](const std::string& name) {
    return key == name || key.starts_with(name + ".");
  };
  const bool again = std::ranges::any_of(given_up_, covers);
  asked_by_ceiling_ = asked_by_ceiling_ || again;
  restrictions_.give_up(key, again ? words + "; a ceiling asks for it" : words);
}

void LossReport::cannot_hold_layer(Layer layer, const std::string& words) {
  if (layer_) {
    layer_->notes.push_back("layer " + std::string(name_of(layer)) + ": " + words);
    return;
  }
  layer_ =
      Error{.kind = ErrorKind::Unsupported,
            .what = "the policy requires the layer " + std::string(name_of(layer)) + ": " + words,
            .hint =
                "take it out of layers in [require]; if a ceiling asks for it, only accept_missing "
                "in that ceiling permits to go without"};
}

Result<std::vector<Carriage>> LossReport::settle(Engine engine) {
  if (layer_) return fail(*layer_);
  auto settled = restrictions_.settle(name_of(engine));
  if (!settled) {
    if (asked_by_ceiling_) {
      settled.error().hint =
          "--drop does not reach what a ceiling asks for: use cordon run, or ask whoever looks "
          "after the ceiling";
    }
    return fail(std::move(settled).error());
  }
  for (const std::string& key : given_up_) left_out(key, "given up with --drop");
  return std::move(account_);
}

namespace {

template <typename T>
bool take_out(std::optional<T>& value) {
  const bool was = value.has_value();
  value.reset();
  return was;
}

template <typename T>
bool take_out(std::vector<T>& values) {
  const bool was = !values.empty();
  values.clear();
  return was;
}

bool take_out_staging(Policy& policy) {
  const bool was = policy.fs.mode == WriteMode::Staged;
  policy.fs.mode = WriteMode::Live;
  return was;
}

struct DroppableKey {
  std::string_view key;
  bool (*take)(Policy&);
};

constexpr std::array<DroppableKey, 15> kDroppable{{
    {"fs.deny", [](Policy& p) { return take_out(p.fs.deny); }},
    {"fs.mode", take_out_staging},
    {"net.deny", [](Policy& p) { return take_out(p.net.deny); }},
    {"limits.wall", [](Policy& p) { return take_out(p.limits.wall_ms); }},
    {"limits.cpu", [](Policy& p) { return take_out(p.limits.cpu_ms); }},
    {"limits.memory", [](Policy& p) { return take_out(p.limits.memory); }},
    {"limits.pids", [](Policy& p) { return take_out(p.limits.pids); }},
    {"limits.cpus", [](Policy& p) { return take_out(p.limits.cpus_milli); }},
    {"limits.files", [](Policy& p) { return take_out(p.limits.files); }},
    {"limits.file_size", [](Policy& p) { return take_out(p.limits.file_size); }},
    {"limits.output_total", [](Policy& p) { return take_out(p.limits.output_total); }},
    {"limits.connections", [](Policy& p) { return take_out(p.limits.connections); }},
    {"limits.sent", [](Policy& p) { return take_out(p.limits.sent); }},
    {"limits.requests", [](Policy& p) { return take_out(p.limits.requests); }},
    {"limits.request_traffic", [](Policy& p) { return take_out(p.limits.request_traffic); }},
}};

}  // namespace

Result<void> give_up_restrictions(Policy& policy, std::span<const std::string> keys) {
  for (const std::string& key : keys) {
    bool found = false;
    for (const DroppableKey& one : kDroppable) {
      const bool covered = one.key == key || one.key.starts_with(key + ".");
      if (covered && one.take(policy)) found = true;
    }
    if (!found) {
      return fail(usage_error("the policy has no restriction " + shown(key) + " to give up",
                              "leave it out of --drop"));
    }
  }
  return {};
}

bool may_be_missing(const Effective& effective, Layer layer) {
  const auto has = [&](const std::vector<Layer>& layers) {
    return std::ranges::find(layers, layer) != layers.end();
  };
  return !has(effective.require) || has(effective.accept_missing);
}

Result<Plan> plan_for_engine(const EngineRequest& request, const PlanRequest& wanted) {
  HostFacts facts = request.facts;
  // The engine makes the group; whether it can is for the account to say.
  facts.cgroup = {CgroupFacts::Version::V2, {{"cpu", "/"}, {"memory", "/"}, {"pids", "/"}}};
  CORDON_TRY(plan, make_native_plan(request.clamped, facts, request.caller, wanted));
  keep_configs_read_only(plan);
  for (Op& operation : plan.confine) {
    auto* filter = std::get_if<op::InstallSeccomp>(&operation);
    if (filter == nullptr) continue;
    // Named hosts need somebody who answers; nobody does, and there is no network but loopback.
    if (filter->net == NetMode::Allow) filter->net = NetMode::None;
    filter->brokered = filter->staged = filter->watched = false;
  }
  // Nor a placeholder: nobody puts anything in its place there.
  if (plan.credential && plan.credential->kind != Credential::Kind::Login) {
    const std::string begin = plan.credential->label + "=";
    std::erase_if(plan.environment, [&](const std::string& one) { return one.starts_with(begin); });
  }
  return plan;
}

void keep_configs_read_only(Plan& plan) {
  std::string copies;
  for (const Op& operation : plan.build) {
    const auto* place = std::get_if<op::ScratchDirectory>(&operation);
    if (place != nullptr && place->name == kGitCopies) copies = place->path;
  }
  std::erase_if(plan.build, [&](const Op& operation) {
    const auto* place = std::get_if<op::ScratchDirectory>(&operation);
    const auto* file = std::get_if<op::ScratchFile>(&operation);
    const auto* rule = std::get_if<op::LandlockAllow>(&operation);
    return (place != nullptr && place->name == kGitCopies) ||
           (file != nullptr && contains(kGitCopies, file->name)) ||
           (rule != nullptr && rule->path == copies);
  });
}

std::string inner_layers(const Plan& plan) {
  Plan inner;
  for (const Op& operation : plan.build) {
    const bool is_checked = std::holds_alternative<op::LandlockAllow>(operation) ||
                            std::holds_alternative<op::Bind>(operation) ||
                            std::holds_alternative<op::Hold>(operation) ||
                            std::holds_alternative<op::Mask>(operation);
    if (is_checked) inner.build.push_back(operation);
  }
  inner.confine = plan.confine;
  inner.argv = plan.argv;
  inner.candidates = plan.candidates;
  inner.environment = plan.environment;
  inner.cwd = plan.cwd;
  for (const PlannedLimit& limit : plan.limits) {
    if (limit.name == "wall") inner.limits.push_back(limit);
  }
  return encode_plan(inner);
}

void lose_what_needs_a_supervisor(const Effective& effective, LossReport& report) {
  if (effective.mode == WriteMode::Staged) {
    report.cannot_hold("fs.mode", "what is written is written at once: nobody keeps a stage");
  }
  const Limits& limits = effective.limits;
  if (limits.output_total) {
    report.cannot_hold("limits.output_total", "the engine takes the output, and counts none of it");
  }
  if (limits.output) {
    report.left_out("limits.output", "how much of the output is kept is for the engine to say");
  }
  if (effective.net.mode == NetMode::Allow && limits.connections) {
    report.carried("limits.connections", "there is nothing to connect to");
  }
  if (effective.net.mode == NetMode::Allow && limits.sent) {
    report.carried("limits.sent", "there is nothing to send to");
  }
  if (effective.net.mode == NetMode::Allow && limits.requests) {
    report.carried("limits.requests", "there is nobody to ask");
  }
  if (effective.net.mode == NetMode::Allow && limits.request_traffic) {
    report.carried("limits.request_traffic", "there is nobody to ask");
  }
  if (!effective.sockets.empty()) {
    report.left_out("net.sockets", "nobody judges connections to local sockets: there are none");
  }
  if (!effective.net.publish.empty()) {
    report.left_out("net.publish", "nothing inside can be reached from the host");
  }
  if (!effective.agent.name.empty()) {
    report.left_out("agent", "a credential is never written into an export");
  }
  report.left_out("audit", "what is started this way is not in the audit log of Cordon");
}

}  // namespace cordon
