#include "run/judge.h"

#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <set>

#include "base/path.h"
#include "base/random_id.h"
#include "base/sha256.h"
#include "base/text.h"
#include "config/policy_document.h"
#include "host/caller.h"
#include "host/canonical.h"
#include "host/git/index.h"
#include "host/host_settings.h"
#include "host/inspect.h"
#include "host/resolve.h"
#include "host/tree_survey.h"
#include "host/writable.h"
#include "plan/keeping_plan.h"
#include "policy/agents.h"
#include "policy/approval.h"
#include "policy/decide.h"
#include "policy/http_rules.h"
#include "policy/refusal.h"
#include "run/backends.h"
#include "run/choose.h"
#include "run/held_run.h"
#include "run/identity.h"
#include "run/run_note.h"
#include "run/secret_source.h"
#include "run/staged_run.h"
#include "run/trust_copy.h"

namespace cordon {
namespace {

// The writable grant by which the command could put something else at the end of that way, itself
// or by a link or a directory that leads there; null: none. `own_directory` is Cordon's, which is
// masked inside, whatever grant covers it.
const Grant* replaceable_by(const std::vector<Grant>& write, const TracedPath& way,
                            const std::string& own_directory) {
  for (const PassedPlace* passed : way.passed) {
    const std::string& place = passed->path;
    if (contains(own_directory, place)) continue;
    for (const Grant& grant : write) {
      if (contains(grant.path, place) && (place != grant.path || place == way.end)) return &grant;
    }
  }
  return nullptr;
}

// A policy the contained code could rewrite would hold for this run only.
Result<void> refuse_writable_source(const std::vector<Grant>& write, const std::string& file,
                                    const std::string& own_directory) {
  PathTrace trace;
  const TracedPath way = trace.to(file);
  // Missing, it could be made by the command.
  if (way.end.empty()) {
    return fail(policy_error("policy file " + quote(file) + " can no longer be looked at",
                             "it is to stay where it was read for as long as runs use it"));
  }
  if (const Grant* grant = replaceable_by(write, way, own_directory)) {
    return fail(policy_error(
        "policy file " + quote(file) + " lies in the writable grant " + quote(grant->path),
        "the command could rewrite it: keep project policies as policies/NAME.toml in the "
        "configuration directory and use \"@cwd\" in them"));
  }
  const PassedPlace* end = trace.seen(way.end);
  if (end == nullptr)
    return fail(setup_error("cannot look at the policy file " + quote(file), errno));
  const FileInfo& seen = end->info;
  const auto beside = [&](const Grant& grant) { return grant.id.device == seen.id.device; };
  if (seen.links < 2 || std::ranges::none_of(write, beside)) return {};
  return fail(policy_error("policy file " + quote(file) + " has another name",
                           "that one may lie in a writable grant: make a copy of the file"));
}

Result<void> refuse_writable_sources(const Clamped& clamped, const Policy& policy,
                                     const std::vector<Ceiling>& ceilings, const Caller& caller) {
  const Result<Canonical> found = canonicalize(caller.config_directory, "/", caller);
  const std::string own = found ? found->path : caller.config_directory;
  const auto check = [&](const std::string& file) -> Result<void> {
    return file.empty() ? Result<void>()
                        : refuse_writable_source(clamped.effective().write, file, own);
  };
  CORDON_CHECK(check(policy.file));
  for (const Ceiling& ceiling : ceilings) CORDON_CHECK(check(ceiling.policy.file));
  return {};
}

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

// What other runs made appear is not old. One that wrote its note while this survey was under way
// may have planted something that the survey took for old, so it is made again.
Result<Survey> survey_beside_others(const Clamped& clamped, const Caller& caller,
                                    const std::optional<std::vector<std::string>>& asked) {
  constexpr int kMostAttempts = 8;
  const auto ids = [](const std::vector<OlderRun>& runs) {
    std::set<std::string> found;
    for (const OlderRun& run : runs) found.insert(run.id);
    return found;
  };
  std::vector<OlderRun> older = older_runs(caller, clamped.effective());
  if (asked) return survey_ways(clamped, caller, older, *asked);
  for (int attempt = 1;; ++attempt) {
    CORDON_TRY(found, survey(clamped, caller, older));
    std::vector<OlderRun> now = older_runs(caller, clamped.effective());
    const std::set<std::string> before = ids(older);
    const std::set<std::string> after = ids(now);
    if (std::ranges::includes(before, after) || attempt == kMostAttempts) return found;
    older = std::move(now);
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

// A mount goes with the name that it lies on, in whatever namespace that is removed. A run for
// which git may replace a file, since it has no mount there, can take the name away and put the
// same file back: a run beside it, which had a mount on the name, could write the file from then
// on, and the search would know it for the one that was there. So all runs of a tree do with a file
// what the oldest of them does.
void follow_others(const HostFacts& facts, std::span<const OtherRun> others,
                   std::set<std::string>& tracked) {
  const auto follow = [&](const std::string& path, const FileId& id) {
    for (const OtherRun& run : others) {
      const auto covers = [&](const std::string& root) { return contains(root, path); };
      if (std::ranges::none_of(run.writable, covers)) continue;
      if (!run.held.contains(id)) {
        tracked.insert(path);
        return;
      }
      tracked.erase(path);
    }
  };
  for (const Held& held : facts.held)
    if (held.file == FileKind::Regular) follow(held.path, held.id);
  for (const Pinned& pinned : facts.pinned)
    if (pinned.is_protected_link()) follow(pinned.path, pinned.id);
}

// What a Mac or Windows shares with Linux folds case, and the kernel does not know: a file in other
// letters is another name to it, on which no mount lies.
bool has_other_spellings(const Held& held) {
  constexpr long kFuse = 0x65735546;
  constexpr long k9p = 0x01021997;
  struct statfs status {};
  if (::statfs(held.path.c_str(), &status) != 0) return false;
  if (status.f_type != kFuse && status.f_type != k9p) return false;
  std::string name(basename(held.path));
  for (char& c : name) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) c = static_cast<char>(c ^ 0x20);
  }
  const auto seen = inspect_path(join(parent(held.path), name));
  return seen && seen->id == held.id;
}

// Single protected files, and protected links, that git replaces when it checks out. A file with a
// second name cannot be put back so that both names lead to it, and stays covered.
std::set<std::string> tracked_held(const HostFacts& facts, const Clamped& clamped,
                                   const Caller& caller) {
  const Effective& effective = clamped.effective();
  std::vector<std::string> files;
  for (const Pinned& pinned : facts.pinned) {
    if (pinned.is_protected_link() && basename(pinned.path) != ".git" &&
        leads_to_kept(pinned, clamped, facts, caller))
      files.push_back(pinned.path);
  }
  const auto is_top = [&](const Held& held) {
    const auto is_it = [&](const Grant& grant) { return grant.path == parent(held.path); };
    return basename(held.path) == ".git" && std::ranges::any_of(effective.write, is_it);
  };
  for (const Held& held : facts.held) {
    // By the pointer of a writable grant itself the next run finds the repository it is to work in.
    if (held.file != FileKind::Regular || is_top(held)) continue;
    if (const auto seen = inspect_path(held.path); seen && seen->links == 1)
      files.push_back(held.path);
  }
  std::set<std::string> tracked;
  if (!files.empty()) tracked = tracked_files(files, effective.write);
  for (const Held& held : facts.held)
    if (held.file == FileKind::Regular && has_other_spellings(held)) tracked.insert(held.path);
  follow_others(facts, other_runs(caller, {}), tracked);
  return tracked;
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

// What is started outside to tell a secret must be nothing that the command could rewrite: it would
// run there whenever the command makes the host refuse the secret.
Result<void> refuse_writable_program(const SecretRule& secret, const Effective& effective,
                                     const Caller& caller) {
  for (const std::string& file : files_of_command(secret, caller)) {
    PathTrace trace;
    const Grant* grant = replaceable_by(effective.write, trace.to(file), caller.config_directory);
    if (grant == nullptr) continue;
    return fail(policy_error(
        "the command could rewrite " + quote(file) + ", which the secret " + quote(secret.name) +
            " starts outside: it lies in the writable grant " + quote(grant->path),
        "keep it where the command cannot write, and name that place in "
        "\"from\" of its [[secret]]"));
  }
  return {};
}

// What is added outside must not lie where the command reads it.
Result<void> check_secrets(const Judgement& judgement, const Caller& caller) {
  const Effective& effective = judgement.clamped.effective();
  if (effective.net.http.size() > kMostHttpRules) {
    return fail(policy_error("more than " + std::to_string(kMostHttpRules) + " rules [[http]]",
                             "leave out those that this run does not need"));
  }
  if (!effective.net.http.empty() && effective.net.mode == NetMode::Open) {
    return fail(policy_error("net mode \"open\" contradicts the rules [[http]]",
                             "use mode \"allow\": open leads past every rule"));
  }
  for (const SecretRule& secret : effective.secrets) {
    CORDON_CHECK(refuse_writable_program(secret, effective, caller));
    const auto file = file_of(secret, caller);
    if (!file) continue;
    CORDON_TRY(place, canonicalize(*file, "/", caller));
    // What can be written can be read.
    const Verdict verdict =
        decide(judgement.clamped, judgement.survey.facts, caller, Access::Read, place.path);
    if (!verdict.allowed) continue;
    return fail(policy_error(
        "the command could read the file of the secret " + quote(secret.name) + ": " + verdict.rule,
        "--deny " + quote(place.path) + ", or keep the secret elsewhere"));
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

// Another run of the same tree can make it one that no run can be started in: thousands of
// protected names, directories that are renamed all the time, a protected file that is replaced
// just now. Whoever is refused for that has to know which process to end.
Error beside_others(Error error, const Caller& caller, const Effective& effective,
                    const std::string& own_id) {
  constexpr std::size_t kMostNamed = 3;
  const std::vector<RunAtWork> others = runs_at_work(caller, effective, own_id);
  if (others.empty() || error.kind == ErrorKind::Usage) return error;
  std::string names;
  std::string pids;
  for (std::size_t i = 0; i < others.size() && i < kMostNamed; ++i) {
    if (i > 0) names += ", ";
    names += others[i].id;
    pids += " " + std::to_string(others[i].supervisor);
  }
  if (others.size() > kMostNamed) {
    names += " and " + std::to_string(others.size() - kMostNamed) + " more";
  }
  const std::string more = "run " + names +
                           " is at work in this tree and may be the cause: end it (kill" + pids +
                           ") and start again";
  error.hint = error.hint.empty() ? more : error.hint + "; " + more;
  return error;
}

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
  CORDON_CHECK(check_secrets(judgement, caller));
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

// A run that has nothing else than live files can take away what holds those of another.
Error unlike_another(HeldBy own, const RunAtWork& other) {
  const std::string theirs = own == HeldBy::Mounts ? "without" : "with";
  const std::string ours = own == HeldBy::Mounts ? "with" : "without";
  return {.kind = ErrorKind::Unsupported,
          .what = "run " + other.id + " is at work in this tree " + theirs +
                  " mounts over its protected files, and this one would be " + ours +
                  " them: the one without could take away those of the other",
          .hint = "wait for its end or end it (kill " + std::to_string(other.supervisor) +
                  "), or give both the same --backend"};
}

}  // namespace

Result<void> check_beside_others(const JudgedRun& run, const std::string& run_id) {
  if (is_staged(run)) return {};
  const HeldBy own = run.choice.backend == BackendKind::Landlock ? HeldBy::Copies : HeldBy::Mounts;
  const auto unlike = runs_held_otherwise(run.caller, run.clamped.effective(), own, run_id);
  if (!unlike.empty()) return fail(unlike_another(own, unlike.front()));
  if (!run.request.private_copies) return {};
  std::set<std::string> tracked = run.request.tracked;
  follow_others(run.survey.facts, other_runs(run.caller, run_id), tracked);
  std::vector<std::string> differs;
  std::ranges::set_symmetric_difference(tracked, run.request.tracked, std::back_inserter(differs));
  if (differs.empty()) return {};
  return fail(
      setup_error("another run began in this tree at the same moment, and the two would "
                  "hold " +
                      quote(differs.front()) + " in different ways",
                  0, "start it again"));
}

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
