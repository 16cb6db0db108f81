#include "run/judge.h"

#include <algorithm>

#include "base/path.h"
#include "base/random_id.h"
#include "base/sha256.h"
#include "base/text.h"
#include "config/policy_document.h"
#include "host/caller.h"
#include "host/canonical.h"
#include "host/host_settings.h"
#include "host/resolve.h"
#include "host/tree_survey.h"
#include "host/writable.h"
#include "policy/agents.h"
#include "policy/approval.h"
#include "policy/http_rules.h"
#include "policy/refusal.h"
#include "run/backends.h"
#include "run/choose.h"
#include "run/identity.h"
#include "run/run_note.h"
#include "run/shared_tree.h"
#include "run/staged_run.h"
#include "run/tracked_held.h"
#include "run/trust_copy.h"
#include "run/trusted_files.h"

namespace cordon {
namespace {

Result<Grant> helper_grant(const std::string& path, const Caller& caller) {
  CORDON_TRY(found, canonicalize_existing(path, "/", caller));
  return Grant{path, found.lexical, found.path, Grant::Source::Policy, found.kind, found.id};
}

Result<std::string> start_directory(const RunInput& input, const Caller& caller) {
  if (input.cwd.empty()) return caller.cwd;
  CORDON_TRY(found, canonicalize_existing(input.cwd, caller.cwd, caller));
  if (found.kind != FileKind::Directory) {
    return fail(usage_error("--cwd " + quote(input.cwd) + " is not a directory",
                            "name the directory in which the command is to start"));
  }
  return found.path;
}

// What lasts is kept apart for every owner: a file of one would be closed to another.
std::string for_owner(std::string path, const std::optional<Owner>& owner) {
  return owner ? path + "-" + std::to_string(owner->uid) + "-" + std::to_string(owner->gid) : path;
}

// A writable directory that is held as a whole, since the host finds programs in it by name, is no
// more than readable: an option that asked to write it would get nothing.
std::vector<Reduction> held_options(const Clamped& clamped, const Survey& found,
                                    const Caller& caller) {
  std::vector<Reduction> reductions;
  for (const Grant& grant : clamped.effective().write) {
    const auto holds = [&](const Held& held) { return held.path == grant.path; };
    if (grant.origin != Origin::Option) continue;
    if (std::ranges::none_of(found.facts.held, holds) && !is_directory_on_path(grant.id, caller)) {
      continue;
    }
    reductions.push_back(
        {"write", grant.written, "read-only", Reduction::Because::Forbidden, Origin::Option});
  }
  return reductions;
}

// A plan knows paths by their grants; who asked for variables and for the place to start in is
// known here.
void mark_options(const RunInput& input, std::vector<Reduction>& reductions) {
  const std::vector<std::string>& names = input.policy.options.env;
  for (Reduction& reduction : reductions) {
    const bool variable =
        reduction.what == "env" && std::ranges::find(names, reduction.asked) != names.end();
    if (variable || (reduction.what == "cwd" && !input.cwd.empty())) {
      reduction.origin = Origin::Option;
    }
  }
}

// Empty for a run that is not staged.
std::string new_stage_directory(const Effective& effective, const Caller& caller) {
  if (effective.mode != WriteMode::Staged || effective.write.empty()) return {};
  return join(stage_directories(caller.state_directory), random_id());
}

PlanRequest plan_request(const RunInput& input, const Effective& effective, const Caller& caller,
                         const Backend& backend, const std::optional<Owner>& owner,
                         std::string start, std::string stage_directory) {
  PlanRequest request;
  request.argv = input.argv;
  request.cwd = std::move(start);
  if (effective.home == HomeMode::Persistent) {
    // One per project: the place it was called from. Where the command starts grants nothing.
    request.persistent_home = for_owner(
        join(caller.state_directory, "homes/" + sha256_hex(caller.cwd).substr(0, 16)), owner);
  }
  if (effective.caches) {
    request.cache_directory = for_owner(join(caller.state_directory, "caches"), owner);
  }
  request.stage_directory = std::move(stage_directory);
  // Bubblewrap and foreign executors bring what they mount themselves: there it is read-only. In a
  // stage nothing has to be held.
  request.private_copies = backend.kind() == BackendKind::Native && !effective.write.empty() &&
                           request.stage_directory.empty();
  const bool on_disk = backend.private_space() == Backend::PrivateSpace::OnDisk;
  const bool gated = judges_requests(effective.net);
  if ((on_disk && effective.scratch) || request.private_copies || gated ||
      backend.needs_directory()) {
    request.private_directory = join(private_directories(caller), random_id());
  }
  if (gated) request.trust_directory = join(request.private_directory, "trust");
  return request;
}

// A shared login is put into the private home that is kept, so that one has to be seen inside.
Result<void> check_shared_login(const Effective& effective, const Caller& caller) {
  if (!effective.agent.share_login) return {};
  const AgentNeeds* agent = find_agent(effective.agent.name);
  if (agent == nullptr || agent->login.empty()) {
    return fail(policy_error("share_login is for an agent that keeps its login in a file"));
  }
  const auto covers = [&](const Grant& grant) { return contains(grant.path, caller.home); };
  const bool seen = effective.home == HomeMode::Persistent && !caller.home.empty() &&
                    std::ranges::none_of(effective.read, covers) &&
                    std::ranges::none_of(effective.write, covers);
  if (seen) return {};
  return fail(
      policy_error("share_login needs the private home that is kept",
                   "write home = \"persistent\" in [fs], and grant no path above the home"));
}

Result<void> check_requests(const Effective& effective) {
  if (effective.net.http.size() > kMostHttpRules) {
    return fail(policy_error("more than " + std::to_string(kMostHttpRules) + " rules [[http]]",
                             "leave out those that this run does not need"));
  }
  if (!effective.net.http.empty() && effective.net.mode == NetMode::Open) {
    return fail(policy_error("net mode \"open\" contradicts the rules [[http]]",
                             "use mode \"allow\": open leads past every rule"));
  }
  return {};
}

Result<std::unique_ptr<Backend>> backend_of(const RunInput& input, const BackendChoice& choice) {
  return input.backends ? input.backends(choice.backend) : make_backend(choice.backend);
}

Result<BackendChoice> choice_for(const RunInput& input, const Effective& effective,
                                 const Caller& caller, Foresight foresight) {
  CORDON_TRY(wish, backend_request(input.backend, input.backend_by, caller));
  return choose_backend(wish, effective, input.ceilings, foresight, ask_this_host());
}

}  // namespace

Result<Judgement> judge_policy(const Policy& policy, const std::vector<Ceiling>& ceilings,
                               const Caller& caller, const JudgedPlaces& places) {
  const AgentNeeds* agent = find_agent(policy.agent.name);
  const KeptLogin login = agent == nullptr ? KeptLogin::None : kept_login(*agent, caller);
  CORDON_TRY(resolved, resolve(with_key_outside(policy, ceilings, caller, login), caller));
  resolved.start = places.start.value_or(caller.cwd);
  resolved.keep = places.keep;
  // Fewer than there are would permit what the others do not.
  const bool looked_up = places.ceilings && places.ceilings->size() == ceilings.size();
  auto found_ceilings = looked_up ? Result<std::vector<ResolvedCeiling>>(*places.ceilings)
                                  : resolve_ceilings(ceilings, caller, places.approved);
  if (!found_ceilings) return fail(std::move(found_ceilings).error());
  std::vector<ResolvedCeiling> bounds = std::move(*found_ceilings);
  if (!places.helper.empty()) {
    CORDON_TRY(program, helper_grant(places.helper, caller));
    resolved.read.push_back(program);
    for (ResolvedCeiling& bound : bounds) bound.read.push_back(program);
  }
  CORDON_TRY(clamped, clamp(resolved, bounds));
  CORDON_CHECK(refuse_writable_sources(clamped, policy, ceilings, caller));
  auto surveyed = survey_beside_others(clamped, caller, places.asked);
  if (!surveyed) {
    return fail(beside_others(std::move(surveyed).error(), caller, clamped.effective()));
  }
  Survey found = std::move(*surveyed);
  if (auto refused = refusal_of_planned(held_options(clamped, found, caller))) {
    return fail(*std::move(refused));
  }
  return Judgement{std::move(clamped), std::move(found)};
}

namespace {

// Native is no way out of a refusal where it refuses the same policy, and neither is making it
// work.
Error refused_plan(Error error, const BackendChoice& choice, const Judgement& judgement,
                   const Caller& caller, const PlanRequest& request) {
  const bool native_too =
      choice.backend == BackendKind::Landlock &&
      !make_native_plan(judgement.clamped, judgement.survey.facts, caller, request);
  return native_too ? error : with_passed_over(std::move(error), choice, ask_this_host());
}

bool is_watched(const Plan& plan) {
  return std::ranges::any_of(plan.confine, [](const Op& operation) {
    const auto* filter = std::get_if<op::InstallSeccomp>(&operation);
    return filter != nullptr && filter->watched;
  });
}

Error cannot_watch(BackendKind backend) {
  return {.kind = ErrorKind::Unsupported,
          .what = "--why cannot watch a command of backend " + std::string(name_of(backend)) +
                  " on this host",
          .hint =
              "it needs Linux 5.19 and one of the backends native, bwrap and landlock; without "
              "--why the command runs as ever, and cordon policy explain tells of one path"};
}

Error cannot_hold_session(BackendKind backend) {
  if (backend == BackendKind::Landlock) {
    return {.kind = ErrorKind::Unsupported,
            .what = "a session needs namespaces of its own, which landlock does without",
            .hint = "cordon doctor names what forbids them; cordon run needs no session"};
  }
  return {.kind = ErrorKind::Unsupported,
          .what = "a session cannot be carried out by " + std::string(name_of(backend)),
          .hint = "use --backend native or --backend bwrap; cordon run needs no session"};
}

Result<JudgedRun> judge_for(const RunInput& input, const Caller& caller, Foresight foresight,
                            std::optional<std::vector<std::string>> asked) {
  if (input.argv.empty() || input.argv.front().empty()) {
    return fail(usage_error("no command was given", "cordon run -- CMD [ARG]..."));
  }
  CORDON_TRY(start, start_directory(input, caller));
  CORDON_TRY(judgement, judge_policy(input.policy, input.ceilings, caller,
                                     {input.helper, start, Keep::Something, input.approved,
                                      input.resolved_ceilings, std::move(asked)}));
  const Effective& effective = judgement.clamped.effective();
  CORDON_CHECK(check_shared_login(effective, caller));
  CORDON_CHECK(check_requests(effective));
  CORDON_CHECK(check_secrets(judgement.clamped, judgement.survey.facts, caller));
  CORDON_TRY(choice, choice_for(input, effective, caller, foresight));
  CORDON_TRY(backend, backend_of(input, choice));
  CORDON_TRY(owner, owner_to_run_as(effective.write, caller, identity_mapping(choice.backend)));
  if (input.session != nullptr && choice.backend != BackendKind::Native &&
      choice.backend != BackendKind::Bwrap) {
    return fail(cannot_hold_session(choice.backend));
  }
  CORDON_CHECK(refuse_without_cgroup(effective, judgement.survey.facts));
  CORDON_TRY(stage_base, find_stage_base(input, effective, caller));
  // A stage stays what it was made as.
  const bool as_copy = stage_base ? stage_base->copy : input.policy.options.copy_stage;
  CORDON_CHECK(refuse_unstageable(effective, caller, choice.backend, owner, as_copy));
  CORDON_CHECK(refuse_review_of_tools(input, effective));
  // A review that was asked for is not given up by going on.
  const StageDecision decision =
      stage_base && stage_base->waits && input.stage_decision == StageDecision::ByPolicy
          ? StageDecision::ByPerson
          : input.stage_decision;
  std::string stage_directory = stage_base && stage_base->how == StageBase::How::Continue
                                    ? stage_base->directory
                                    : new_stage_directory(effective, caller);
  PlanRequest request = plan_request(input, effective, caller, *backend, owner, std::move(start),
                                     std::move(stage_directory));
  if (!request.trust_directory.empty()) request.trust_source = trust_source(judgement, caller);
  request.watched = input.why;
  request.stage_is_copy = as_copy && !request.stage_directory.empty();
  if (request.private_copies)
    request.tracked = tracked_held(judgement.survey.facts, judgement.clamped, caller);
  Caller inside = caller;
  if (owner) {
    inside.uid = owner->uid;
    inside.gid = owner->gid;
  }
  if (choice.backend != BackendKind::Landlock)
    pin_roots_of(older_runs(caller, effective), effective, judgement.survey.facts);
  auto plan = backend->plan(judgement.clamped, judgement.survey.facts, inside, request);
  if (!plan) {
    return fail(refused_plan(std::move(plan).error(), choice, judgement, inside, request));
  }
  if (input.why && !is_watched(*plan)) return fail(cannot_watch(choice.backend));
  if (owner) CORDON_CHECK(fit_to_owner(*plan, *owner));
  mark_options(input, plan->reductions);
  if (auto refused = refusal_of_planned(plan->reductions)) return fail(*std::move(refused));
  std::vector<Reduction> reductions = judgement.clamped.reductions();
  reductions.insert(reductions.end(), plan->reductions.begin(), plan->reductions.end());
  return JudgedRun{
      caller,
      std::move(judgement.clamped),
      std::move(judgement.survey),
      std::move(*plan),
      std::move(request),
      std::move(backend),
      std::move(choice),
      std::move(reductions),
      owner,
      stage_base ? std::optional(StageBase{stage_base->how, stage_base->run}) : std::nullopt,
      decision};
}

}  // namespace

Result<JudgedRun> judge(const RunInput& input, const Caller& caller, Foresight foresight) {
  return judge_for(input, caller, foresight, std::nullopt);
}

Result<JudgedRun> judge_question(const RunInput& input, const Caller& caller,
                                 std::optional<std::vector<std::string>> paths) {
  CORDON_CHECK(refuse_nesting(caller));
  return judge_for(input, caller, Foresight::AskHost, std::move(paths));
}

void describe(const RunInput& input, const JudgedRun& run, Report& report) {
  report.reductions = run.reductions;
  report.choice = run.choice;
  std::string policy = write_json(encode_effective(run.clamped.effective()), JsonStyle::Compact);
  report.policy_hash = "sha256:" + sha256_hex(policy);
  if (input.describe_policy) report.policy_json = std::move(policy);
  report.approvals = approvals_used(input.approved, run.clamped.effective());
}

}  // namespace cordon
