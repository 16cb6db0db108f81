#include "run/contained_run.h"

#include <sys/random.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/sha256.h"
#include "base/text.h"
#include "changes/lost_list.h"
#include "config/policy_document.h"
#include "egress/broker.h"
#include "egress/publisher.h"
#include "host/caller.h"
#include "host/git_index.h"
#include "host/host_settings.h"
#include "host/inspect.h"
#include "host/post_run_scan.h"
#include "host/resolve.h"
#include "host/tree_copy.h"
#include "host/tree_survey.h"
#include "host/writable.h"
#include "policy/agents.h"
#include "policy/approval.h"
#include "policy/refusal.h"
#include "run/backends.h"
#include "run/choose.h"
#include "run/held_run.h"
#include "run/identity.h"
#include "run/kept_run.h"
#include "run/memory_watch.h"
#include "run/run_note.h"
#include "run/run_record.h"
#include "run/staged_run.h"
#include "run/tracked_run.h"

namespace cordon {
namespace {

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
  for (const std::string& place : way.passed) {
    // Cordon's own directory is masked inside, whatever grant covers it.
    if (contains(own_directory, place)) continue;
    for (const Grant& grant : write) {
      if (!contains(grant.path, place) || (place == grant.path && place != way.end)) continue;
      return fail(policy_error(
          "policy file " + quote(file) + " lies in the writable grant " + quote(grant.path),
          "the command could rewrite it: keep project policies as policies/NAME.toml in the "
          "configuration directory and use \"@cwd\" in them"));
    }
  }
  const std::optional<FileInfo>& seen = trace.seen(way.end);
  if (!seen) return fail(setup_error("cannot look at the policy file " + quote(file), errno));
  const auto beside = [&](const Grant& grant) { return grant.id.device == seen->id.device; };
  if (seen->links < 2 || std::ranges::none_of(write, beside)) return {};
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
    return fail(usage_error("--cwd " + quote(input.cwd) + " is not a directory"));
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
Result<Survey> survey_beside_others(const Clamped& clamped, const Caller& caller) {
  constexpr int kMostAttempts = 8;
  const auto ids = [](const std::vector<OlderRun>& runs) {
    std::set<std::string> found;
    for (const OlderRun& run : runs) found.insert(run.id);
    return found;
  };
  std::vector<OlderRun> older = older_runs(caller, clamped.effective());
  for (int attempt = 1;; ++attempt) {
    CORDON_TRY(found, survey(clamped, caller, older));
    std::vector<OlderRun> now = older_runs(caller, clamped.effective());
    const std::set<std::string> before = ids(older);
    const std::set<std::string> after = ids(now);
    if (std::ranges::includes(before, after) || attempt == kMostAttempts) return found;
    older = std::move(now);
  }
}

// Another run of the same tree can make it one that no run can be started in: thousands of
// protected names, directories that are renamed all the time, a protected file that is replaced
// just now. Whoever is refused for that has to know which process to end.
Error beside_others(Error error, const Caller& caller, const Effective& effective,
                    const std::string& own_id = {}) {
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

PlanRequest plan_request(const RunInput& input, const Effective& effective, const Caller& caller,
                         const Backend& backend, const std::optional<Owner>& owner,
                         std::string start) {
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
  if (effective.mode == WriteMode::Staged && !effective.write.empty()) {
    request.stage_directory = join(stage_directories(caller.state_directory), make_run_id());
  }
  // Bubblewrap and foreign executors bring what they mount themselves: there it is read-only. In a
  // stage nothing has to be held.
  request.private_copies = backend.kind() == BackendKind::Native && !effective.write.empty() &&
                           request.stage_directory.empty();
  const bool on_disk = backend.private_space() == Backend::PrivateSpace::OnDisk;
  if ((on_disk && effective.scratch) || request.private_copies) {
    request.private_directory = join(private_directories(caller), make_run_id());
  }
  return request;
}

// Single protected files that git replaces when it checks out. One with a second name cannot be put
// back so that both names lead to it, and stays covered.
std::set<std::string> tracked_held(const HostFacts& facts, const Effective& effective) {
  std::vector<std::string> files;
  for (const Held& held : facts.held) {
    if (held.file != FileKind::Regular) continue;
    if (const auto seen = inspect_path(held.path); seen && seen->links == 1)
      files.push_back(held.path);
  }
  return files.empty() ? std::set<std::string>() : tracked_files(files, effective.write);
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

// A directory of Cordon's own that the command writes; root's are the owner's, below one that only
// root may enter.
Result<Fd> open_persistent(const std::string& path, const std::optional<Owner>& owner) {
  if (!owner) return open_private_directory(path);
  CORDON_CHECK(open_private_directory(std::string(parent(path))));
  const bool made = ::mkdir(path.c_str(), 0700) == 0;
  Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!directory.valid() || ::fstat(directory.get(), &status) < 0) {
    return fail(setup_error("cannot make " + quote(path), errno));
  }
  if (status.st_uid != owner->uid && !made && status.st_uid != 0) {
    return fail(setup_error("state directory " + quote(path) + " belongs to somebody else", 0,
                            "remove it; it is made again"));
  }
  if (::fchown(directory.get(), owner->uid, owner->gid) < 0) {
    return fail(setup_error("cannot give " + quote(path) + " to the command", errno));
  }
  return directory;
}

// What was written into the private home is the owner's too: `login` is one directory and a name.
// Both are given by descriptor. The owner's other runs can write this home: by a second look-up of
// the names, a link put there meanwhile would have root give away a file outside.
Result<void> give_login(int home, const std::string& login, const std::optional<Owner>& owner) {
  if (!owner) return {};
  const auto give = [&](int descriptor) {
    return ::fchownat(descriptor, "", owner->uid, owner->gid, AT_EMPTY_PATH) == 0;
  };
  const Fd place(::openat(home, std::string(parent(login)).c_str(),
                          O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!place.valid()) return fail(setup_error("cannot give the login to the command", errno));
  const Fd file(
      ::openat(place.get(), std::string(basename(login)).c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat status {};
  if (!file.valid() || ::fstat(file.get(), &status) < 0) {
    return fail(setup_error("cannot give the login to the command", errno));
  }
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1) {
    return fail(setup_error("the login in the private home was replaced while it was made", 0,
                            "end the other run of this project, then try again"));
  }
  if (!give(place.get()) || !give(file.get())) {
    return fail(setup_error("cannot give the login to the command", errno));
  }
  return {};
}

// The directories of ours that last from run to run, made on first use.
Result<void> make_persistent(JudgedRun& run) {
  const PlanRequest& request = run.request;
  const HostFacts& facts = run.survey.facts;
  if (!request.cache_directory.empty()) {
    CORDON_CHECK(open_persistent(request.cache_directory, run.owner));
  }
  if (!request.private_directory.empty()) {
    CORDON_CHECK(open_private_directory(private_directories(run.caller)));
  }
  if (request.persistent_home.empty()) return {};
  CORDON_TRY(directory, open_persistent(request.persistent_home, run.owner));
  if (run.clamped.effective().agent.share_login) {
    const AgentNeeds* agent = find_agent(run.clamped.effective().agent.name);
    CORDON_TRY(copy, copy_login(std::string(agent->login), run.caller, directory.get()));
    run.plan.credential->copied = copy == LoginCopy::Made;
    if (copy == LoginCopy::Made) {
      CORDON_CHECK(give_login(directory.get(), std::string(agent->login), run.owner));
    }
  }
  if (facts.git_identity.empty()) return {};
  const Fd file(::openat(directory.get(), ".gitconfig",
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (file.valid() &&
      ::write(file.get(), facts.git_identity.data(), facts.git_identity.size()) < 0) {
    return fail(setup_error("cannot write the private .gitconfig", errno));
  }
  if (file.valid() && run.owner && ::fchown(file.get(), run.owner->uid, run.owner->gid) < 0) {
    return fail(setup_error("cannot give the private .gitconfig to the command", errno));
  }
  return {};
}

NoteContent note_of(const JudgedRun& run, const RunBranches& branches, const std::string& run_id) {
  NoteContent note;
  note.run_id = run_id;
  note.cgroups = run.backend->leftovers(run.plan, run.survey.facts, run_id);
  note.private_directory = run.request.private_directory;
  // What is staged is not in the trees, so that nothing has to be looked for there.
  note.stage_directory = run.request.stage_directory;
  if (is_staged(run)) return note;
  if (keeps(run.plan)) note.kept_directory = kept_directory(run.caller, run_id);
  note.holds_by_mounts = run.choice.backend != BackendKind::Landlock;
  note.writable = run.clamped.effective().write;
  note.deny = run.clamped.effective().deny;
  note.snapshot = run.survey.snapshot;
  note.roots = run.survey.roots;
  note.tips = branches.baseline();
  return note;
}

std::optional<std::uint64_t> limit_held_by(const Plan& plan, const std::string& name, LimitBy by) {
  for (const PlannedLimit& limit : plan.limits) {
    if (limit.name == name && limit.by == by) return limit.value;
  }
  return std::nullopt;
}

std::vector<std::string> watched_directories(const JudgedRun& run) {
  std::vector<std::string> directories;
  if (is_staged(run)) return directories;
  for (const GitDirectory& directory : run.survey.facts.git) directories.push_back(directory.path);
  if (directories.empty()) return directories;
  for (const Grant& grant : run.clamped.effective().write) directories.push_back(grant.path);
  return directories;
}

SuperviseRequest supervise_request(const RunInput& input, const JudgedRun& run,
                                   const GitWatch& git_watch) {
  SuperviseRequest request;
  const Limits& limits = run.clamped.effective().limits;
  request.wall_ms = limits.wall_ms;
  request.output_total = limits.output_total;
  request.sent = limits.sent;
  request.watched_memory = limit_held_by(run.plan, "memory", LimitBy::Watch);
  request.watched_tasks = limit_held_by(run.plan, "pids", LimitBy::Watch);
  if (const auto bytes = limit_held_by(run.plan, "scratch", LimitBy::Watch)) {
    request.scratch = {run.request.private_directory, *bytes};
  }
  request.signal_descriptor = input.signal_descriptor;
  request.cancel = input.cancel;
  request.terminate = input.terminate;
  if (input.poll_hook) request.poll_hook = &*input.poll_hook;
  request.git_watch = &git_watch;
  return request;
}

StreamRequest stream_request(const RunInput& input, const Limits& limits) {
  StreamRequest request = input.streams;
  if (limits.output) request.keep = *limits.output;
  request.total = limits.output_total;
  return request;
}

// Removes the private directories of a run when it is over.
class PrivateTree {
 public:
  explicit PrivateTree(std::string path) : path_(std::move(path)) {}
  ~PrivateTree() {
    if (!path_.empty()) (void)remove_private_tree(path_);
  }
  PrivateTree(const PrivateTree&) = delete;
  PrivateTree& operator=(const PrivateTree&) = delete;
  // What the run changed in it could not be kept: the next start tries again.
  void leave() { path_.clear(); }

 private:
  std::string path_;
};

bool shares_host(const Plan& plan) {
  return std::ranges::find(plan.missing, Layer::Namespaces) != plan.missing.end();
}

// Where the broker may change modes and times for a sandbox that has the host's view of files.
std::vector<std::string> changeable(const Plan& plan) {
  std::vector<std::string> paths;
  if (!shares_host(plan)) return paths;
  for (const Op& operation : plan.build) {
    const auto* rule = std::get_if<op::LandlockAllow>(&operation);
    if (rule != nullptr && rule->use == LandlockUse::ReadWrite) paths.push_back(rule->path);
  }
  return paths;
}

BrokerRequest broker_request(const RunInput& input, const JudgedRun& run) {
  const Effective& effective = run.clamped.effective();
  if (input.live_rules) input.live_rules->replace(effective.net);
  return {effective.net,
          effective.sockets,
          input.live_rules,
          input.ceilings_now,
          effective.limits.connections,
          effective.limits.sent,
          shares_host(run.plan) ? SandboxNetwork::Hosts : SandboxNetwork::Own,
          changeable(run.plan)};
}

// Network mode allow needs its threads, and a list of sockets its looks, before the start.
// Otherwise there is nothing to be prepared for a call that may never come.
Result<std::optional<Broker>> make_broker(const RunInput& input, const JudgedRun& run) {
  const Effective& effective = run.clamped.effective();
  if (effective.net.mode != NetMode::Allow && effective.sockets.empty()) return std::nullopt;
  CORDON_TRY(broker, Broker::make(broker_request(input, run)));
  return std::optional<Broker>(std::move(broker));
}

// Only a run that publishes ports has one.
Result<std::optional<Publisher>> make_publisher(const NetRules& net) {
  if (net.publish.empty()) return std::nullopt;
  CORDON_TRY(publisher, Publisher::make(net.publish));
  return std::optional<Publisher>(std::move(publisher));
}

BrokerSockets sockets_of(EgressDescriptors egress) {
  return {std::move(egress.listener),
          std::move(egress.resolver_datagrams),
          std::move(egress.resolver_streams),
          egress.network,
          egress.private_device,
          std::move(egress.bind_inside)};
}

// Where no broker can be made, the listener is closed and every call fails.
void serve_calls(const RunInput& input, const JudgedRun& run, EgressDescriptors& egress,
                 std::optional<Broker>& broker) {
  EgressDescriptors taken = std::move(egress);
  if (!broker) {
    auto made = Broker::make(broker_request(input, run));
    if (!made) return;
    broker.emplace(std::move(*made));
  }
  broker->serve(sockets_of(std::move(taken)));
}

void add_attempts(Broker& broker, Outcome& outcome) {
  broker.settle();
  outcome.connections = broker.connections();
  const std::vector<Denial> denials = broker.denials();
  outcome.denials.insert(outcome.denials.end(), denials.begin(), denials.end());
}

// One entry for each name; the number of files and bytes is said with the first.
void add_gone(const Gone& gone, const std::string& place, const std::string& words,
              std::vector<Change>& changes) {
  for (const std::string& name : gone.names) {
    std::string reason = words;
    if (&name == &gone.names.front()) {
      reason += ": " + std::to_string(gone.files) + (gone.files == 1 ? " file, " : " files, ") +
                std::to_string(gone.bytes) + " bytes in all";
    }
    changes.push_back(
        {join(place, name), Change::Kind::Added, Change::State::Lost, std::move(reason), place});
  }
}

// What the run wrote to private places, told in the report and in `cordon changes list`.
void tell_gone(Child& child, const JudgedRun& run, Report& report) {
  const GonePlaces places = child.take_gone_places();
  Given given{run.survey.facts.git_identity, {}};
  for (const std::vector<Grant>* grants :
       {&run.clamped.effective().read, &run.clamped.effective().write}) {
    for (const Grant& grant : *grants) given.mounted.insert(grant.path);
  }
  // All private places lie on one file system, and a home may lie in /var/tmp.
  given.mounted.insert(run.caller.home);
  const auto tell = [&](GonePlace which, const std::string& path, const std::string& words) {
    const Fd& place = places[static_cast<std::size_t>(which)];
    if (!place.valid()) return;
    add_gone(gone_with(place.get(), path, given), path, words, report.changes);
  };
  tell(GonePlace::Home, run.caller.home, "private home");
  tell(GonePlace::Tmp, "/tmp", "private /tmp");
  tell(GonePlace::VarTmp, "/var/tmp", "private /var/tmp");
  // The report has it all; who cannot write this note loses nothing but the list.
  if (!report.changes.empty())
    (void)note_lost(run.caller.state_directory, report.run_id, report.changes);
}

// Removes a stage into which nothing was written.
class StageUnlessStarted {
 public:
  explicit StageUnlessStarted(const std::optional<Stage>& stage) : stage_(&stage) {}
  ~StageUnlessStarted() {
    if (stage_ != nullptr && *stage_) (void)(*stage_)->remove();
  }
  StageUnlessStarted(const StageUnlessStarted&) = delete;
  StageUnlessStarted& operator=(const StageUnlessStarted&) = delete;
  void started() { stage_ = nullptr; }

 private:
  const std::optional<Stage>* stage_;
};

// The command ran, so there is an outcome, whatever becomes of its stage.
void end_stage(Stage& stage, const JudgedRun& run, Report& report, Outcome& outcome,
               RunNote& note) {
  if (is_full_disk(stage)) {
    outcome.denials.push_back({"stage", "the disk that it lies on is full", "disk", 1});
  }
  auto settled = settle_stage(stage, run.caller);
  if (!settled) {
    note.leave();
    outcome.handoff.push_back({".", "unchecked: " + message(settled.error()), {}});
    return;
  }
  if (settled->unapplied) {
    outcome.handoff.push_back({".", "unchecked: " + message(*settled->unapplied), {}});
  }
  std::ranges::move(changes_of(settled->records, run.caller.cwd),
                    std::back_inserter(report.changes));
}

// Whether a command may have run: one that may have is never started again.
enum class Launch { NotDone, Done };

Result<void> carry_out(const RunInput& input, JudgedRun& run, Report& report, Launch& launch) {
  CORDON_CHECK(make_persistent(run));
  report.credential = run.plan.credential;
  if (keeps(run.plan)) forget_kept(run.plan.keeping, run.survey.facts, run.survey.snapshot);
  // Without mounts nothing holds them.
  if (run.choice.backend == BackendKind::Landlock) run.survey.snapshot.closed = {};
  const RunBranches branches = is_staged(run) ? RunBranches() : RunBranches::read(run);
  RunNote note;
  const bool leaves_something =
      !run.clamped.effective().write.empty() || !run.request.private_directory.empty() ||
      !run.backend->leftovers(run.plan, run.survey.facts, report.run_id).empty();
  if (leaves_something) {
    CORDON_TRY(written, RunNote::write(run.caller, note_of(run, branches, report.run_id)));
    note = std::move(written);
  }
  PrivateTree private_tree(run.request.private_directory);
  auto copied = copy_held(run);
  if (!copied) {
    return fail(beside_others(std::move(copied).error(), run.caller, run.clamped.effective(),
                              report.run_id));
  }
  const PrivateCopies copies = std::move(*copied);
  CORDON_TRY(stage, make_stage(run, report.run_id));
  StageUnlessStarted unused(stage);
  report.reductions = run.reductions;
  auto keeping = keep_for(run, report.run_id);
  if (!keeping) {
    Error error = beside_others(std::move(keeping).error(), run.caller, run.clamped.effective(),
                                report.run_id);
    return fail(with_passed_over(std::move(error), run.choice, ask_this_host()));
  }
  std::optional<KeptFiles> kept = std::move(*keeping);
  KeptUnlessStarted unstarted(kept);
  Removal removal(run.survey.facts, run.clamped.effective().write);
  CORDON_TRY(broker, make_broker(input, run));
  CORDON_TRY(publisher, make_publisher(run.clamped.effective().net));
  CORDON_TRY(streams, Streams::open(stream_request(input, run.clamped.effective().limits)));
  if (run.owner) CORDON_CHECK(streams.give_to(run.owner->uid, run.owner->gid));
  // Watching begins before the command can make anything appear.
  const GitWatch git_watch(watched_directories(run));
  auto launched =
      run.backend->launch(run.plan, run.survey.facts, report.run_id, streams.command_ends());
  if (!launched) {
    // What a foreign mechanism said for itself before it failed.
    streams.command_started();
    streams.drain();
    return fail(std::move(launched).error());
  }
  unstarted.started();
  unused.started();
  launch = Launch::Done;
  const std::unique_ptr<Child> child = std::move(*launched);
  report.identity = identity_of(child->first_process());
  note.started(child->first_process());
  EgressDescriptors egress = child->take_egress();
  const auto serve = [&] { serve_calls(input, run, egress, broker); };
  if (run.clamped.effective().net.mode == NetMode::Allow) serve();
  if (publisher) publisher->serve(child->take_socket_source());
  streams.command_started();
  if (Fd terminal = child->take_terminal(); terminal.valid()) {
    streams.attach_terminal(std::move(terminal));
  }
  SuperviseRequest watching = supervise_request(input, run, git_watch);
  watching.first_call = egress.listener.get();
  watching.on_first_call = serve;
  if (broker) watching.over_sent = broker->over_descriptor();
  CORDON_TRY(outcome, supervise(*child, streams, watching));
  report.enforcement = child->enforcement();
  if (broker) add_attempts(*broker, outcome);
  if (publisher) outcome.published = publisher->end();
  tell_gone(*child, run, report);
  if (stage) {
    end_stage(*stage, run, report, outcome, note);
  } else if (!run.clamped.effective().write.empty()) {
    std::set<std::string> git_directories;
    auto handoff =
        post_run_scan(run.clamped.effective().write, run.clamped.effective().deny, run.caller,
                      run.survey.snapshot, join(run.caller.state_directory, "handoff"),
                      report.run_id, kept ? &*kept : nullptr, run.survey.roots, &git_directories);
    if (handoff) {
      // Before anything is asked about branches, and before the note may go.
      if (auto noted = branches.note_written(run.caller, git_directories); !noted) {
        handoff = fail(std::move(noted).error());
      }
    }
    if (handoff) {
      outcome.handoff = std::move(*handoff);
      if (kept) kept->discard();
      mark_moved_in_clones(outcome.handoff, run);
      std::vector<Quarantined> recovered;
      const auto pass = [&](std::vector<ChangeRecord>& records) {
        PassedTracked passed = pass_tracked(input, run, branches, report.run_id, records);
        recovered = std::move(passed.recovered);
        return std::move(passed.paths);
      };
      auto settled = settle_held(copies, &removal, outcome.handoff, run.clamped.effective().write,
                                 run.caller, report.run_id, pass);
      if (settled) {
        forget_passed(outcome.handoff, *settled);
        std::ranges::move(recovered, std::back_inserter(outcome.handoff));
        std::ranges::move(changes_of(*settled, run.caller.cwd), std::back_inserter(report.changes));
      } else {
        note.leave();
        private_tree.leave();
        outcome.handoff.push_back({".", "unchecked: " + message(settled.error()), {}});
      }
    } else {
      private_tree.leave();
      // The command ran, so there is an outcome; what could not be looked at is said in it, and
      // stays known to the next start.
      note.leave();
      outcome.handoff.push_back({".", "unchecked: " + message(handoff.error()), {}});
    }
  }
  report.outcome = std::move(outcome);
  return {};
}

Result<std::unique_ptr<Backend>> backend_of(const RunInput& input, const BackendChoice& choice) {
  return input.backends ? input.backends(choice.backend) : make_backend(choice.backend);
}

Result<BackendChoice> choice_for(const RunInput& input, const Effective& effective,
                                 const Caller& caller, Foresight foresight) {
  CORDON_TRY(wish, backend_wish(input.backend, input.backend_by, caller));
  return choose_backend(wish, effective, input.ceilings, foresight, ask_this_host());
}

Error with_outside_hint(Error error, const JudgedRun& run) {
  if (error.kind == ErrorKind::Command && error.exit_status == 127) {
    error.hint = cure_for_missing(run.plan.argv.front(), run.caller);
  }
  return error;
}

}  // namespace

std::string cure_for_missing(const std::string& name, const Caller& caller) {
  std::vector<std::string> places;
  if (name.find('/') != std::string::npos) {
    places = {name};
  } else if (const auto path = caller.environment.find("PATH"); path != caller.environment.end()) {
    for (const std::string_view directory : split(path->second, ':')) {
      places.push_back(join(directory, name));
    }
  }
  for (const std::string& place : places) {
    if (::access(place.c_str(), X_OK) == 0) {
      return "it exists outside as " + quote(place) + ": grant it with --read";
    }
  }
  return "it is not installed, or its directory is not on PATH";
}

Result<Judgement> judge_policy(const Policy& policy, const std::vector<Ceiling>& ceilings,
                               const Caller& caller, const JudgedPlaces& places) {
  CORDON_TRY(resolved, resolve(policy, caller));
  resolved.start = places.start.value_or(caller.cwd);
  resolved.keep = places.keep;
  std::vector<ResolvedCeiling> bounds;
  for (const Ceiling& ceiling : ceilings) {
    CORDON_TRY(bound, resolve(ceiling, caller, places.approved));
    bounds.push_back(std::move(bound));
  }
  if (!places.helper.empty()) {
    CORDON_TRY(program, helper_grant(places.helper, caller));
    resolved.read.push_back(program);
    for (ResolvedCeiling& bound : bounds) bound.read.push_back(program);
  }
  CORDON_TRY(clamped, clamp(resolved, bounds));
  CORDON_CHECK(refuse_writable_sources(clamped, policy, ceilings, caller));
  auto surveyed = survey_beside_others(clamped, caller);
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

}  // namespace

Result<Mechanism> mechanism_for(const Judgement& judgement, const RunInput& input,
                                const Caller& caller) {
  const Effective& effective = judgement.clamped.effective();
  CORDON_TRY(choice, choice_for(input, effective, caller, Foresight::AskHost));
  if (choice.backend == BackendKind::Native) return Mechanism{std::move(choice), {}};
  CORDON_TRY(backend, backend_of(input, choice));
  CORDON_TRY(start, start_directory(input, caller));
  const PlanRequest request =
      plan_request(input, effective, caller, *backend, std::nullopt, std::move(start));
  const auto plan = backend->plan(judgement.clamped, judgement.survey.facts, caller, request);
  if (!plan) return fail(refused_plan(plan.error(), choice, judgement, caller, request));
  return Mechanism{std::move(choice), plan->lost};
}

Result<JudgedRun> judge(const RunInput& input, const Caller& caller, Foresight foresight) {
  if (input.argv.empty() || input.argv.front().empty()) {
    return fail(usage_error("no command was given", "cordon run -- CMD [ARG]..."));
  }
  CORDON_TRY(start, start_directory(input, caller));
  CORDON_TRY(judgement, judge_policy(input.policy, input.ceilings, caller,
                                     {input.helper, start, Keep::Something, input.approved}));
  const Effective& effective = judgement.clamped.effective();
  CORDON_CHECK(check_shared_login(effective, caller));
  CORDON_TRY(choice, choice_for(input, effective, caller, foresight));
  CORDON_TRY(backend, backend_of(input, choice));
  CORDON_TRY(owner, owner_to_run_as(effective.write, caller, identity_mapping(choice.backend)));
  CORDON_CHECK(refuse_without_cgroup(effective, judgement.survey.facts));
  CORDON_CHECK(refuse_unstageable(effective, caller, choice.backend, owner));
  CORDON_CHECK(refuse_review_of_tools(input, effective));
  PlanRequest request = plan_request(input, effective, caller, *backend, owner, std::move(start));
  if (request.private_copies) request.tracked = tracked_held(judgement.survey.facts, effective);
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
  if (owner) CORDON_CHECK(fit_to_owner(*plan, *owner));
  mark_options(input, plan->reductions);
  if (auto refused = refusal_of_planned(plan->reductions)) return fail(*std::move(refused));
  std::vector<Reduction> reductions = judgement.clamped.reductions();
  reductions.insert(reductions.end(), plan->reductions.begin(), plan->reductions.end());
  return JudgedRun{caller,
                   std::move(judgement.clamped),
                   std::move(judgement.survey),
                   std::move(*plan),
                   std::move(request),
                   std::move(backend),
                   std::move(choice),
                   std::move(reductions),
                   owner};
}

namespace {

// From the record of a judged run to its outcome.
Result<void> attempt(const RunInput& input, JudgedRun& run, RunRecord& record, Report& report,
                     Launch& launch) {
  report.reductions = run.reductions;
  report.choice = run.choice;
  std::string policy = write_json(encode_effective(run.clamped.effective()), JsonStyle::Compact);
  report.policy_hash = "sha256:" + sha256_hex(policy);
  if (input.describe_policy) report.policy_json = std::move(policy);
  report.approvals = approvals_used(input.approved, run.clamped.effective());
  // Nothing is started before this record is durable.
  CORDON_CHECK(record.begin(run, report.policy_hash));
  const std::string line = choice_line(run.choice, run.plan.lost);
  if (!line.empty() && input.tell_choice) input.tell_choice(line);
  return carry_out(input, run, report, launch);
}

// Native was taken at its word, and its launch failed before anything of the command ran. The host
// is asked now. Where it refuses native, the next backend is tried, as a run with a record of its
// own; where nothing may come next, the error says what to change. Else the error stands as it is.
Result<void> after_native(const RunInput& input, const Caller& caller, Error error, JudgedRun& run,
                          RunRecord& record, Report& report) {
  if (error.kind != ErrorKind::Unavailable && error.kind != ErrorKind::Setup) {
    return fail(std::move(error));
  }
  const auto refusal = ask_this_host()(BackendKind::Native);
  if (!refusal) return fail(std::move(error));
  if (!has_next(run.choice, run.clamped.effective())) {
    error.hint = refusal->cure;
    return fail(std::move(error));
  }
  auto next = judge(input, caller, Foresight::AskHost);
  if (!next) {
    // What native met says more than that nothing is left; what to do instead is for both.
    if (!next.error().hint.empty()) error.hint = next.error().hint;
    return fail(std::move(error));
  }
  report.audit = record.close(error);
  run = std::move(*next);
  Launch launch = Launch::NotDone;
  return attempt(input, run, record, report, launch);
}

}  // namespace

Report run_contained(const RunInput& input, const Caller& caller) {
  Report report;
  report.run_id = make_run_id();
  if (auto streams = Streams::check(input.streams); !streams) {
    report.error = std::move(streams).error();
    return report;
  }
  if (auto outermost = refuse_nesting(caller); !outermost) {
    report.error = std::move(outermost).error();
    return report;
  }
  // Made before the trees are looked at: what does not exist cannot be masked.
  if (auto state = open_private_directory(join(caller.state_directory, "runs")); !state) {
    report.error = std::move(state).error();
    return report;
  }
  auto record = RunRecord::open(input, caller);
  if (!record) {
    report.error = std::move(record).error();
    return report;
  }
  const std::vector<Quarantined> recovered = recover_runs(caller);
  auto run =
      judge(input, caller, suspects_no_namespaces() ? Foresight::AskHost : Foresight::TakeNative);
  if (!run) {
    report.audit = record->refuse(run.error());
    report.error = std::move(run).error();
    return report;
  }
  Launch launch = Launch::NotDone;
  auto done = attempt(input, *run, *record, report, launch);
  if (!done && launch == Launch::NotDone && run->choice.backend == BackendKind::Native) {
    done = after_native(input, caller, std::move(done).error(), *run, *record, report);
  }
  if (!done) {
    report.error = with_outside_hint(std::move(done).error(), *run);
    if (record->is_open()) report.audit = record->close(*report.error);
  } else {
    report.outcome->handoff.insert(report.outcome->handoff.end(), recovered.begin(),
                                   recovered.end());
    report.audit = record->close(*report.outcome);
  }
  return report;
}

std::optional<AuditMark> record_refusal(const RunInput& input, const Caller& caller,
                                        const Error& error) {
  auto record = RunRecord::open(input, caller);
  if (!record) return std::nullopt;
  return record->refuse(error);
}

std::string make_run_id() {
  std::array<unsigned char, 8> bytes{};
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::getrandom(bytes.data() + done, bytes.size() - done, 0);
    if (got > 0) done += static_cast<std::size_t>(got);
  }
  std::string id;
  for (const unsigned char byte : bytes) {
    id += "0123456789abcdef"[byte >> 4];
    id += "0123456789abcdef"[byte & 15];
  }
  return id;
}

}  // namespace cordon
