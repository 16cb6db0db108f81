#include "faces/cli/policy_options.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"
#include "config/section.h"
#include "faces/cli/console.h"
#include "faces/cli/flag_table_mcp.h"
#include "policy/environment.h"
#include "policy/net_rules.h"
#include "run/choose.h"
#include "run/policy_source.h"

namespace cordon {
namespace {

constexpr std::array kLayers{Layer::Namespaces, Layer::Landlock, Layer::Seccomp,
                             Layer::Capabilities, Layer::Cgroup};
constexpr std::string_view kSizeHint = "write a number with K, M, G or T: 512M";
constexpr std::string_view kDurationHint = "write a number with ms, s, m or h: 30s";

Error bad_value(const GivenFlag& flag, std::string why, std::string_view hint) {
  return usage_error(std::string(flag.name) + " " + quote(flag.value) + ": " + std::move(why),
                     std::string(hint));
}

Result<void> add_path(const GivenFlag& flag, PathUse use, const std::string& cwd,
                      std::vector<PathRule>& rules) {
  if (auto checked = check_path_entry(flag.value, use); !checked) {
    return fail(bad_value(flag, checked.error().what, checked.error().hint));
  }
  rules.push_back({std::string(flag.value), cwd, Origin::Option});
  return {};
}

Result<void> set_size(const GivenFlag& flag, std::optional<std::uint64_t>& target) {
  target = parse_size(flag.value);
  if (!target) return fail(bad_value(flag, "not a size", kSizeHint));
  return {};
}

Result<void> set_duration(const GivenFlag& flag, std::optional<std::uint64_t>& target) {
  target = parse_duration(flag.value);
  if (!target) return fail(bad_value(flag, "not a duration", kDurationHint));
  return {};
}

Result<void> set_count(const GivenFlag& flag, std::optional<std::uint64_t>& target) {
  target = parse_number(flag.value);
  if (!target || *target == 0) return fail(bad_value(flag, "not a number above zero", ""));
  return {};
}

// "2", "0.5", "1.25": up to three decimals, as thousandths.
Result<void> set_processors(const GivenFlag& flag, std::optional<std::uint64_t>& target) {
  constexpr std::size_t kDecimals = 3;
  constexpr std::uint64_t kMost = 1'000'000;
  const std::size_t point = std::min(flag.value.find('.'), flag.value.size());
  std::string decimals(flag.value.substr(std::min(point + 1, flag.value.size())));
  const bool whole = point == flag.value.size();
  const bool well_formed = whole || (!decimals.empty() && decimals.size() <= kDecimals);
  decimals.resize(kDecimals, '0');
  const auto units = parse_number(flag.value.substr(0, point));
  const auto thousandths = parse_number(decimals);
  if (!well_formed || !units || !thousandths || *units > kMost ||
      *units * 1000 + *thousandths == 0) {
    return fail(bad_value(flag, "not a number of processors", "write 2 or 0.5"));
  }
  target = *units * 1000 + *thousandths;
  return {};
}

Result<void> set_net(const GivenFlag& flag, Policy& policy) {
  NetRules& net = policy.net;
  if (flag.value == "none") {
    net.mode = NetMode::None;
  } else if (flag.value == "open") {
    net.mode = share_the_hosts_network();
    net.publish.clear();  // the command listens on the host's network itself
  } else if (flag.value == "allow") {
    return fail(bad_value(flag, "not a network mode", "name the hosts: --allow HOST[:PORT]"));
  } else {
    return fail(bad_value(flag, "not a network mode", "write none or open"));
  }
  net.allow.clear();  // kept, the list would come back to life under another mode
  policy.options.net = true;
  return {};
}

Result<void> add_host(const GivenFlag& flag, Policy& policy) {
  auto rule = parse_host_rule(flag.value);
  if (!rule) return fail(bad_value(flag, rule.error().what, rule.error().hint));
  policy.net.allow_host(*rule);
  policy.options.allow.push_back(std::move(*rule));
  return {};
}

Result<void> set_variable(const GivenFlag& flag, Policy& policy) {
  EnvRules& env = policy.env;
  const std::size_t equals = flag.value.find('=');
  const std::string name(flag.value.substr(0, equals));
  if (!is_valid_variable_name(name)) {
    return fail(bad_value(flag, "not a variable name", "write --env NAME or --env NAME=VALUE"));
  }
  if (is_loader_variable(name)) {
    return fail(bad_value(flag, "refused: it makes the loader run foreign code", ""));
  }
  policy.options.env.push_back(name);
  std::erase(env.pass, name);
  if (equals == std::string_view::npos) {
    env.set.erase(name);
    env.pass.push_back(name);
  } else {
    env.set[name] = std::string(flag.value.substr(equals + 1));
  }
  return {};
}

Result<void> add_layers(const GivenFlag& flag, std::vector<Layer>& layers) {
  for (const std::string_view word : split(flag.value, ',')) {
    const auto found =
        std::ranges::find_if(kLayers, [&](Layer layer) { return name_of(layer) == word; });
    if (found == kLayers.end()) {
      return fail(bad_value(flag, "unknown layer " + quote(word),
                            "the layers are namespaces, landlock, seccomp, capabilities, cgroup"));
    }
    if (std::ranges::find(layers, *found) == layers.end()) layers.push_back(*found);
  }
  return {};
}

// Alone it says that there is a stage, and how that ends is for the policy to say.
Result<void> set_stage(const GivenFlag& flag, Policy& policy) {
  policy.fs.mode = WriteMode::Staged;
  if (flag.value.empty()) return {};
  for (const StageEnd end : {StageEnd::Auto, StageEnd::Review}) {
    if (flag.value != name_of(end)) continue;
    policy.fs.stage = end;
    policy.options.stage = true;
    return {};
  }
  return fail(usage_error("--stage=" + std::string(flag.value) + ": not an end of a stage",
                          "write --stage, --stage=auto or --stage=review"));
}

Result<void> check_contradictions(const Arguments& arguments) {
  if (arguments.has(FlagId::StageFrom) && arguments.has(FlagId::StageFork)) {
    return fail(usage_error("--stage-from contradicts --stage-fork",
                            "drop one of them: --stage-fork leaves the other stage as it is"));
  }
  if (!arguments.has(FlagId::Allow)) return {};
  const auto net = arguments.value(FlagId::Net);
  if (!net) return {};
  return fail(usage_error("--allow contradicts --net " + quote(*net),
                          *net == "none"
                              ? "drop one of them: --allow alone permits these hosts only"
                              : "drop one of them: --net open permits every host"));
}

Result<void> apply_flag(const GivenFlag& flag, const std::string& cwd, Policy& policy) {
  switch (flag.id) {
    case FlagId::Read:
      return add_path(flag, PathUse::Read, cwd, policy.fs.read);
    case FlagId::Write:
      return add_path(flag, PathUse::Write, cwd, policy.fs.write);
    case FlagId::Deny:
      return add_path(flag, PathUse::Deny, cwd, policy.fs.deny);
    case FlagId::Net:
      return set_net(flag, policy);
    case FlagId::Allow:
      return add_host(flag, policy);
    case FlagId::Env:
      return set_variable(flag, policy);
    case FlagId::Timeout:
      policy.options.limits.emplace_back("wall");
      return set_duration(flag, policy.limits.wall_ms);
    case FlagId::Memory:
      policy.options.limits.emplace_back("memory");
      return set_size(flag, policy.limits.memory);
    case FlagId::Pids:
      policy.options.limits.emplace_back("pids");
      return set_count(flag, policy.limits.pids);
    case FlagId::Cpus:
      policy.options.limits.emplace_back("cpus");
      return set_processors(flag, policy.limits.cpus_milli);
    case FlagId::Scratch:
      policy.options.scratch = true;
      return set_size(flag, policy.fs.scratch);
    case FlagId::OutputLimit:
      policy.options.limits.emplace_back("output");
      return set_size(flag, policy.limits.output);
    case FlagId::Require:
      return add_layers(flag, policy.require.layers);
    case FlagId::Stage:
      return set_stage(flag, policy);
    case FlagId::StageFrom:
    case FlagId::StageFork:
      policy.fs.mode = WriteMode::Staged;
      return {};
    case FlagId::Policy:
    case FlagId::Ceiling:
    case FlagId::Cwd:
    case FlagId::Backend:
    case FlagId::Tty:
    case FlagId::DryRun:
    case FlagId::Report:
    case FlagId::Json:
    case FlagId::Since:
    case FlagId::Until:
    case FlagId::OutcomeIs:
    case FlagId::Tool:
    case FlagId::PathLabel:
    case FlagId::Limit:
    case FlagId::Follow:
    case FlagId::Checkpoint:
    case FlagId::KeepDays:
    case FlagId::Profile:
    case FlagId::Workspace:
    case FlagId::Http:
    case FlagId::Socket:
    case FlagId::TokenFile:
    case FlagId::Plan:
    case FlagId::Attempts:
    case FlagId::Commit:
    case FlagId::Restart:
    case FlagId::Total:
    case FlagId::Tokens:
    case FlagId::Cost:
    case FlagId::Plain:
    case FlagId::PrintConfig:
    case FlagId::HostName:
    case FlagId::ProjectName:
    case FlagId::EnvFile:
    case FlagId::Yes:
    case FlagId::NoPause:
    case FlagId::ConfigOnly:
    case FlagId::Act:
    case FlagId::FixHints:
    case FlagId::From:
    case FlagId::To:
    case FlagId::Drop:
    case FlagId::Config:
    case FlagId::ConfigBase64:
    case FlagId::Debug:
    case FlagId::Experimental:
    case FlagId::TestingFeatures:
    case FlagId::LogFile:
    case FlagId::AvailableBackends:
    case FlagId::Settings:
    case FlagId::CommandString:
    case FlagId::ControlFd:
    case FlagId::PolicyFile:
    case FlagId::StatusFd:
    case FlagId::PrintPolicy:
    case FlagId::PrintSettings:
    case FlagId::ExecutePath:
    case FlagId::Format:
    case FlagId::Verbose:
    case FlagId::Version:
    case FlagId::ShortHelp:
    case FlagId::Help:
      return {};
  }
  return {};
}

}  // namespace

Result<void> apply_flags(const Arguments& arguments, const std::string& cwd, Policy& policy) {
  CORDON_CHECK(check_contradictions(arguments));
  for (const GivenFlag& flag : arguments.flags) CORDON_CHECK(apply_flag(flag, cwd, policy));
  return {};
}

Result<std::optional<BackendKind>> asked_backend(const Arguments& arguments) {
  const auto name = arguments.value(FlagId::Backend);
  if (!name) return std::nullopt;
  CORDON_TRY(kind, parse_backend(*name));
  return std::optional<BackendKind>(kind);
}

Result<std::optional<std::string_view>> asked_profile(const Arguments& arguments) {
  const auto name = arguments.value(FlagId::Profile);
  if (!name) return std::nullopt;
  if (*name == "seed") {
    say_warning("the profile seed is called basic now; write --profile basic");
    return std::optional<std::string_view>("basic");
  }
  if (std::ranges::find(flags::kProfileChoices, *name) == flags::kProfileChoices.end()) {
    return fail(usage_error("no profile is called " + quote(*name), "write basic or full"));
  }
  return name;
}

Result<AskedPolicy> asked_policy(const Arguments& arguments, const Caller& caller,
                                 std::string_view preset) {
  CORDON_TRY(policy,
             load_policy(std::string(arguments.value(FlagId::Policy).value_or(preset)), caller));
  AskedPolicy asked;
  asked.policy = std::move(policy);
  CORDON_CHECK(apply_flags(arguments, caller.cwd, asked.policy));
  std::vector<std::string> files;
  for (const std::string_view file : arguments.values(FlagId::Ceiling)) files.emplace_back(file);
  CORDON_TRY(ceilings, load_ceilings(files, caller));
  asked.ceilings = std::move(ceilings);
  return asked;
}

}  // namespace cordon
