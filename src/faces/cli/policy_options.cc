#include "faces/cli/policy_options.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <span>

#include "base/text.h"
#include "config/section.h"
#include "faces/cli/console.h"
#include "faces/cli/host_setup.h"
#include "faces/cli/run_flags.h"
#include "policy/environment.h"
#include "policy/http_rules.h"
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

// What a value is not that has the form of one: zero, or past what can be counted. Nothing if its
// form is wrong.
std::optional<Error> out_of_bounds(const GivenFlag& flag, std::string_view units) {
  const std::string_view text = flag.value;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string unit = " " + std::string(text.substr(digits)) + " ";
  if (digits == 0 || (" " + std::string(units) + " ").find(unit) == std::string::npos) {
    return std::nullopt;
  }
  if (text.find_first_not_of('0') >= digits) {
    return bad_value(flag, "it is zero", "write more than zero, or leave it out");
  }
  return bad_value(flag, "it is larger than anything that can be counted",
                   "write a smaller one, or leave it out");
}

Result<void> set_size(const GivenFlag& flag, std::optional<std::uint64_t>& target) {
  target = parse_size(flag.value);
  if (target) return {};
  return fail(out_of_bounds(flag, "K M G T").value_or(bad_value(flag, "not a size", kSizeHint)));
}

Result<void> set_duration(const GivenFlag& flag, std::optional<std::uint64_t>& target) {
  target = parse_duration(flag.value);
  if (target) return {};
  return fail(
      out_of_bounds(flag, "ms s m h").value_or(bad_value(flag, "not a duration", kDurationHint)));
}

Result<void> set_count(const GivenFlag& flag, std::optional<std::uint64_t>& target) {
  target = parse_number(flag.value);
  if (target && *target > 0) return {};
  const Error wrong = bad_value(flag, "not a number above zero",
                                "write " + std::string(flag.name) + " 256, with digits alone");
  return fail(target ? wrong : out_of_bounds(flag, "").value_or(wrong));
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
  net.allow.clear();  // kept, the lists would come back to life under another mode
  net.http.clear();
  policy.options.net = true;
  return {};
}

Result<void> add_host(const GivenFlag& flag, Policy& policy) {
  auto rule = parse_host_rule(flag.value);
  if (const auto host = rule ? std::nullopt : rule_of_url(flag.value)) {
    return fail(bad_value(flag, "it is a URL, and a rule names a host",
                          "write " + std::string(flag.name) + " " + shell_word(*host)));
  }
  if (!rule) return fail(bad_value(flag, rule.error().what, rule.error().hint));
  policy.net.allow_host(*rule);
  policy.options.allow.push_back(std::move(*rule));
  return {};
}

Result<void> add_request(const GivenFlag& flag, Policy& policy) {
  auto request = parse_allowed_request(flag.value);
  if (!request) return fail(bad_value(flag, request.error().what, request.error().hint));
  HttpRule option;
  option.host = request->endpoint;
  option.allow = {request->pattern};
  policy.options.http.push_back(std::move(option));
  allow_request(policy.net, request->endpoint, std::move(request->pattern));
  return {};
}

Result<void> add_port(const GivenFlag& flag, Policy& policy) {
  const auto rule = parse_publish_rule(flag.value);
  if (!rule) return fail(bad_value(flag, "not a port to publish", "write 8080, or HOSTPORT:PORT"));
  for (const PublishRule& typed : policy.options.publish) {
    if (typed.host_port != rule->host_port || typed == *rule) continue;
    return fail(bad_value(
        flag, "--publish " + to_string(typed) + " uses that port of the host already",
        "lead another port of the host there: --publish PORT:" + std::to_string(rule->port)));
  }
  std::vector<PublishRule>& ports = policy.net.publish;
  // What is typed wins over what a policy leads there.
  std::erase_if(ports, [&](const PublishRule& old) { return old.host_port == rule->host_port; });
  ports.push_back(*rule);
  policy.options.publish.push_back(*rule);
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
    return fail(bad_value(flag, "refused: it makes the loader run foreign code",
                          "leave it out; the command may set it for what it starts itself: "
                          "cordon run -- env " +
                              name + "=VALUE CMD"));
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

// What of the caller's variables a pattern does not stand for. Whoever means one of them names it.
std::string_view why_left_out(std::string_view name, std::string_view value) {
  constexpr std::array<std::string_view, 7> kOwn{"PATH",  "HOME", "USER",  "LOGNAME",
                                                 "SHELL", "PWD",  "TMPDIR"};
  if (is_injection_variable(name)) return "it makes programs run something else";
  if (is_secret_name(name)) return "it looks like a secret";
  if (may_hold_login(value)) return "its value may hold a password";
  if (std::ranges::find(kOwn, name) != kOwn.end()) return "the sandbox has its own";
  return {};
}

// --env NAME: of the caller's.
Result<void> pass_variable(const GivenFlag& flag,
                           const std::map<std::string, std::string>& environment, Policy& policy) {
  CORDON_CHECK(set_variable(flag, policy));
  if (!environment.contains(std::string(flag.value))) {
    say_warning("--env " + quote(flag.value) +
                ": it is not set here, so nothing is passed; --env " + std::string(flag.value) +
                "=VALUE sets it");
  }
  return {};
}

// --env 'NAME*': every variable of the caller that begins so.
Result<void> pass_variables(const GivenFlag& flag,
                            const std::map<std::string, std::string>& environment, Policy& policy) {
  const std::string_view beginning = flag.value.substr(0, flag.value.size() - 1);
  if (!is_valid_variable_name(beginning)) {
    return fail(bad_value(flag, "not the beginning of a variable name",
                          "write --env 'NAME*', with one star at the end"));
  }
  std::size_t passed = 0;
  for (const auto& [name, value] : environment) {
    if (!name.starts_with(beginning) || !is_valid_variable_name(name)) continue;
    if (const std::string_view why = why_left_out(name, value); !why.empty()) {
      say_warning("--env " + quote(flag.value) + " leaves " + name + " out: " + std::string(why) +
                  (is_loader_variable(name) ? "" : "; --env " + name + " passes it"));
      continue;
    }
    ++passed;
    CORDON_CHECK(set_variable({flag.id, flag.name, name}, policy));
  }
  if (passed == 0) say_warning("--env " + quote(flag.value) + ": nothing is passed by that");
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
  if (flag.value == "copy") {
    policy.options.copy_stage = true;
    return {};
  }
  return fail(usage_error("--stage=" + std::string(flag.value) + ": not a way to stage",
                          "write --stage, --stage=auto, --stage=review or --stage=copy"));
}

// Whoever goes on in a stage is in one.
Result<void> stage(Policy& policy) {
  policy.fs.mode = WriteMode::Staged;
  return {};
}

Result<void> check_contradictions(const Arguments& arguments) {
  if (arguments.has(FlagId::StageFrom) && arguments.has(FlagId::StageFork)) {
    return fail(usage_error("--stage-from contradicts --stage-fork",
                            "drop one of them: --stage-fork leaves the other stage as it is"));
  }
  if (arguments.has(FlagId::Publish) && arguments.value(FlagId::Net) == "open") {
    return fail(usage_error("--publish contradicts --net open",
                            "drop one of them: the command listens on the host's network itself"));
  }
  const auto net = arguments.value(FlagId::Net);
  if (net && arguments.has(FlagId::HttpRequest)) {
    return fail(usage_error("--http contradicts --net " + quote(*net),
                            *net == "none"
                                ? "drop one of them: --http alone permits these requests only"
                                : "drop one of them: --net open leads past every rule"));
  }
  if (!arguments.has(FlagId::Allow) || !net) return {};
  return fail(usage_error("--allow contradicts --net " + quote(*net),
                          *net == "none"
                              ? "drop one of them: --allow alone permits these hosts only"
                              : "drop one of them: --net open permits every host"));
}

using Where = const Caller&;  // whose directory paths are relative to, and whose variables pass

struct PolicyOption {
  FlagId id;
  Result<void> (*apply)(const GivenFlag& flag, Where caller, Policy& policy);
};

constexpr PolicyOption kPolicyOptions[] = {
    {FlagId::Read,
     [](const GivenFlag& flag, Where caller, Policy& policy) {
       return add_path(flag, PathUse::Read, caller.cwd, policy.fs.read);
     }},
    {FlagId::Write,
     [](const GivenFlag& flag, Where caller, Policy& policy) {
       return add_path(flag, PathUse::Write, caller.cwd, policy.fs.write);
     }},
    {FlagId::Deny,
     [](const GivenFlag& flag, Where caller, Policy& policy) {
       return add_path(flag, PathUse::Deny, caller.cwd, policy.fs.deny);
     }},
    {FlagId::Net,
     [](const GivenFlag& flag, Where, Policy& policy) { return set_net(flag, policy); }},
    {FlagId::Allow,
     [](const GivenFlag& flag, Where, Policy& policy) { return add_host(flag, policy); }},
    {FlagId::HttpRequest,
     [](const GivenFlag& flag, Where, Policy& policy) { return add_request(flag, policy); }},
    {FlagId::Publish,
     [](const GivenFlag& flag, Where, Policy& policy) { return add_port(flag, policy); }},
    {FlagId::SshAgent,
     [](const GivenFlag&, Where, Policy& policy) -> Result<void> {
       policy.net.ssh_agent = sign_with_the_persons_ssh_keys();
       policy.options.ssh_agent = true;
       return {};
     }},
    {FlagId::Socket,
     [](const GivenFlag& flag, Where caller, Policy& policy) {
       return add_path(flag, PathUse::Socket, caller.cwd, policy.net.sockets);
     }},
    {FlagId::Env,
     [](const GivenFlag& flag, Where caller, Policy& policy) {
       if (flag.value.find('=') != std::string_view::npos) return set_variable(flag, policy);
       if (flag.value.ends_with('*')) return pass_variables(flag, caller.environment, policy);
       return pass_variable(flag, caller.environment, policy);
     }},
    {FlagId::Timeout,
     [](const GivenFlag& flag, Where, Policy& policy) {
       policy.options.limits.emplace_back("wall");
       return set_duration(flag, policy.limits.wall_ms);
     }},
    {FlagId::Memory,
     [](const GivenFlag& flag, Where, Policy& policy) {
       policy.options.limits.emplace_back("memory");
       return set_size(flag, policy.limits.memory);
     }},
    {FlagId::Pids,
     [](const GivenFlag& flag, Where, Policy& policy) {
       policy.options.limits.emplace_back("pids");
       return set_count(flag, policy.limits.pids);
     }},
    {FlagId::Files,
     [](const GivenFlag& flag, Where, Policy& policy) {
       policy.options.limits.emplace_back("files");
       return set_count(flag, policy.limits.files);
     }},
    {FlagId::Cpus,
     [](const GivenFlag& flag, Where, Policy& policy) {
       policy.options.limits.emplace_back("cpus");
       return set_processors(flag, policy.limits.cpus_milli);
     }},
    {FlagId::Scratch,
     [](const GivenFlag& flag, Where, Policy& policy) {
       policy.options.scratch = true;
       return set_size(flag, policy.fs.scratch);
     }},
    {FlagId::OutputLimit,
     [](const GivenFlag& flag, Where, Policy& policy) {
       policy.options.limits.emplace_back("output");
       return set_size(flag, policy.limits.output);
     }},
    {FlagId::Require, [](const GivenFlag& flag, Where,
                         Policy& policy) { return add_layers(flag, policy.require.layers); }},
    {FlagId::Stage,
     [](const GivenFlag& flag, Where, Policy& policy) { return set_stage(flag, policy); }},
    {FlagId::StageFrom, [](const GivenFlag&, Where, Policy& policy) { return stage(policy); }},
    {FlagId::StageFork, [](const GivenFlag&, Where, Policy& policy) { return stage(policy); }},
};

constexpr const PolicyOption* policy_option(FlagId id) {
  const auto* const found = std::ranges::find(kPolicyOptions, id, &PolicyOption::id);
  return found == std::end(kPolicyOptions) ? nullptr : found;
}

// Every flag about the policy has an effect: without its row it would be accepted and ignored.
// --policy and --ceiling name files, which asked_policy reads.
constexpr bool all_have_an_effect(std::span<const Flag> flags) {
  return std::ranges::all_of(flags, [](const Flag& flag) {
    return flag.id == FlagId::Policy || flag.id == FlagId::Ceiling ||
           policy_option(flag.id) != nullptr;
  });
}
static_assert(all_have_an_effect(flags::kPolicy) && all_have_an_effect(flags::kLimits));

}  // namespace

Result<void> apply_flags(const Arguments& arguments, const Caller& caller, Policy& policy) {
  CORDON_CHECK(check_contradictions(arguments));
  for (const GivenFlag& flag : arguments.flags) {
    const PolicyOption* const option = policy_option(flag.id);
    if (option != nullptr) CORDON_CHECK(option->apply(flag, caller, policy));
  }
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
  CORDON_CHECK(apply_flags(arguments, caller, asked.policy));
  std::vector<std::string> files;
  for (const std::string_view file : arguments.values(FlagId::Ceiling)) files.emplace_back(file);
  CORDON_TRY(ceilings, load_ceilings(files, caller));
  asked.ceilings = std::move(ceilings);
  return asked;
}

}  // namespace cordon
