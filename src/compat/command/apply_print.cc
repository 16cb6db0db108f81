// Policies for `cordon apply`, and the settings of the layer around it.
#include "base/text.h"
#include "compat/dialect/foreign_table.h"
#include "compat/safeclaw/apply/prepare.h"
#include "compat/safeclaw/safeclaw_builder.h"
#include "compat/safeclaw/safeclaw_policy.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"
#include "host/resolve.h"

namespace cordon {
namespace {

std::string printed(const Node& document) { return write_json(document, JsonStyle::Pretty) + "\n"; }

Result<std::vector<std::string>> paths_of(const Arguments& arguments, FlagId id,
                                          const Caller& caller) {
  std::vector<std::string> paths;
  for (const std::string_view written : arguments.values(id)) {
    if (id == FlagId::Write) {
      CORDON_TRY(path, writable_place(written, caller));
      paths.push_back(std::move(path));
    } else {
      CORDON_TRY(place, canonicalize(written, caller.cwd, caller));
      paths.push_back(std::move(place.path));
    }
  }
  return paths;
}

Result<BuiltPolicy> for_development(const Arguments& arguments) {
  CORDON_TRY(caller, identify_caller());
  CORDON_TRY(places, development_places(caller));
  CORDON_TRY(read_only, paths_of(arguments, FlagId::Read, caller));
  CORDON_TRY(read_write, paths_of(arguments, FlagId::Write, caller));
  CORDON_TRY(execute, paths_of(arguments, FlagId::ExecutePath, caller));
  DevelopmentOptions options{std::move(execute), std::move(read_write), std::move(read_only), {}};
  if (arguments.has(FlagId::Allow)) {
    options.domains.emplace();
    for (const std::string_view domain : arguments.values(FlagId::Allow)) {
      CORDON_CHECK(parse_domain(domain));
      options.domains->emplace_back(domain);
    }
  }
  return development_policy(places, options);
}

Result<BuiltPolicy> made_policy(const Arguments& arguments) {
  const std::string_view word = arguments.value(FlagId::PrintPolicy).value_or("");
  const auto profile = parse_safeclaw_profile(word);
  if (!profile) {
    return fail(usage_error(quote(word) + " is not a profile",
                            "the profiles are default, minimal-dynamic and development"));
  }
  if (*profile == SafeClawProfile::Development) return for_development(arguments);
  for (const FlagId id : {FlagId::Read, FlagId::Write, FlagId::ExecutePath, FlagId::Allow}) {
    if (arguments.has(id)) {
      return fail(usage_error("this profile takes no further grants",
                              "write --print-policy development, or change what is printed"));
    }
  }
  return *profile == SafeClawProfile::Default ? default_policy() : minimal_dynamic_policy();
}

Result<std::string> policy_text(const Arguments& arguments) {
  CORDON_TRY(built, made_policy(arguments));
  for (const RuleConflict& conflict : built.conflicts) {
    say("cordon: two rules for " + quote(conflict.path) + ": " +
        std::string(name_of(conflict.first)) + " and " + std::string(name_of(conflict.second)) +
        "; it gets " + std::string(name_of(conflict.kept)) + "\n");
  }
  return printed(encode_safeclaw(built.policy));
}

Result<std::string> settings_text(const Arguments& arguments) {
  const auto file = arguments.value(FlagId::PolicyFile);
  if (!file) {
    return fail(usage_error("--print-settings needs a policy", "write --policy-file FILE"));
  }
  const std::string name(*file);
  const auto text = apply::read_policy_file(name);
  if (!text) return fail(policy_error(text.error().text));
  const auto policy = apply::parse_policy(*text, name);
  if (!policy) return fail(policy_error(policy.error().text));
  CORDON_TRY(caller, identify_caller());
  return printed(to_runtime_config(*policy, coverable_stores(caller)));
}

}  // namespace

int print_for_apply(const Arguments& arguments) {
  const auto text =
      arguments.has(FlagId::PrintPolicy) ? policy_text(arguments) : settings_text(arguments);
  if (text) return say_answer(*text) ? kAnswerYes : kAnswerError;
  say_error(text.error());
  return kAnswerError;
}

}  // namespace cordon
