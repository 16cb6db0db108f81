#include "run/prepare.h"

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/text.h"
#include "host/caller.h"
#include "host/tree_copy.h"
#include "policy/agents.h"
#include "run/choose.h"
#include "run/held_run.h"
#include "run/judge.h"
#include "run/kept_run.h"
#include "run/shared_tree.h"
#include "run/staged_run.h"
#include "run/state_upkeep.h"
#include "run/trust_copy.h"

namespace cordon {
namespace {

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

// A start that removes what nobody used for long may come between the opening and the lock.
Result<DirectoryInUse> use_persistent(const std::string& path, const std::optional<Owner>& owner) {
  constexpr int kMostAttempts = 100;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    CORDON_TRY(directory, open_persistent(path, owner));
    CORDON_TRY(locked, DirectoryInUse::lock(path, std::move(directory)));
    if (locked) return std::move(*locked);
  }
  return fail(setup_error("somebody removes " + quote(path) + " again and again", 0,
                          "try again when nothing else does"));
}

// The directories of ours that last from run to run, made on first use; locked as long as they are
// used.
Result<std::vector<DirectoryInUse>> make_persistent(JudgedRun& run) {
  std::vector<DirectoryInUse> in_use;
  const PlanRequest& request = run.request;
  const HostFacts& facts = run.survey.facts;
  if (!request.cache_directory.empty()) {
    CORDON_TRY(directory, use_persistent(request.cache_directory, run.owner));
    in_use.push_back(std::move(directory));
  }
  if (!request.private_directory.empty()) {
    CORDON_CHECK(open_private_directory(private_directories(run.caller)));
  }
  if (request.persistent_home.empty()) return in_use;
  CORDON_TRY(directory, use_persistent(request.persistent_home, run.owner));
  if (run.clamped.effective().agent.share_login) {
    const AgentNeeds* agent = find_agent(run.clamped.effective().agent.name);
    CORDON_TRY(copy, copy_login(std::string(agent->login), run.caller, directory.get()));
    run.plan.credential->copied = copy == LoginCopy::Made;
    if (copy == LoginCopy::Made) {
      CORDON_CHECK(give_login(directory.get(), std::string(agent->login), run.owner));
    }
  }
  const DirectoryInUse& home = in_use.emplace_back(std::move(directory));
  if (facts.gitconfig.empty()) return in_use;
  const Fd file(::openat(home.get(), ".gitconfig",
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (file.valid() && ::write(file.get(), facts.gitconfig.data(), facts.gitconfig.size()) < 0) {
    return fail(setup_error("cannot write the private .gitconfig", errno));
  }
  if (file.valid() && run.owner && ::fchown(file.get(), run.owner->uid, run.owner->gid) < 0) {
    return fail(setup_error("cannot give the private .gitconfig to the command", errno));
  }
  return in_use;
}

NoteContent note_of(const JudgedRun& run, const RunBranches& branches, const std::string& run_id) {
  NoteContent note;
  note.run_id = run_id;
  note.cgroups = run.backend->leftovers(run.plan, run.survey.facts, run_id);
  note.private_directory = run.request.private_directory;
  // What is staged is not in the trees, so that nothing has to be looked for there.
  note.stage_directory = run.request.stage_directory;
  for (const std::string* lasting : {&run.request.persistent_home, &run.request.cache_directory})
    if (!lasting->empty()) note.lasting.push_back(*lasting);
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

std::vector<std::string> watched_directories(const JudgedRun& run) {
  std::vector<std::string> directories;
  if (is_staged(run)) return directories;
  for (const GitDirectory& directory : run.survey.facts.git) directories.push_back(directory.path);
  if (directories.empty()) return directories;
  for (const Grant& grant : run.clamped.effective().write) directories.push_back(grant.path);
  return directories;
}

StreamRequest stream_request(const RunInput& input, const Limits& limits) {
  StreamRequest request = input.streams;
  if (limits.output) request.keep = *limits.output;
  request.total = limits.output_total;
  return request;
}

std::optional<std::uint64_t> limit_held_by(const Plan& plan, const std::string& name, LimitBy by) {
  for (const PlannedLimit& limit : plan.limits) {
    if (limit.name == name && limit.by == by) return limit.value;
  }
  return std::nullopt;
}

}  // namespace

SuperviseRequest supervise_request(const RunInput& input, const JudgedRun& run,
                                   const GitWatch& git_watch) {
  SuperviseRequest request;
  const Limits& limits = run.clamped.effective().limits;
  request.wall_ms = input.session != nullptr ? input.session->lifetime_ms() : limits.wall_ms;
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
  if (input.session != nullptr) {
    // A session has no end of its own: to be stopped, or to have been idle, is how one ends well.
    request.when_ended = Exited{0};
    request.before_kill = [session = input.session] { session->ending(); };
  }
  return request;
}

Prepared::Prepared(const JudgedRun& run, RunBranches read)
    : branches(std::move(read)), private_tree(run.request.private_directory) {}

void Prepared::failed(const Error& error) {
  if (!stage || error.kind == ErrorKind::Command) return;
  stage_is_untouched_ = false;
  note.leave();
}

Prepared::~Prepared() {
  if (stage && stage_is_untouched_) (void)stage->withdraw();
  if (started_) return;
  if (kept) kept->discard();
}

Result<Prepared::Made> Prepared::make(const RunInput& input, JudgedRun& run,
                                      const std::string& run_id) {
  // It would hold and mask next to nothing.
  if (!run.survey.whole) return fail(setup_error("a question was judged, and no run", 0));
  // Before the caches are in use: they are what makes room.
  if (is_staged(run)) CORDON_CHECK(check_room(input.ceilings, run.caller));
  std::optional<RunLock> at_work;
  if (!run.clamped.effective().write.empty()) {
    CORDON_TRY(lock, RunLock::take(run.caller.state_directory, run_id));
    at_work.emplace(std::move(lock));
  }
  CORDON_TRY(persistent, make_persistent(run));
  if (keeps(run.plan)) forget_kept(run.plan.keeping, run.survey.facts, run.survey.snapshot);
  // Without mounts nothing holds them.
  if (run.choice.backend == BackendKind::Landlock) run.survey.snapshot.closed = {};
  auto ready =
      std::make_unique<Prepared>(run, is_staged(run) ? RunBranches() : RunBranches::read(run));
  ready->at_work = std::move(at_work);
  ready->in_use = std::move(persistent);
  CORDON_TRY(unlike, ready->take_note(run, run_id));
  if (unlike) return JudgeAgain{std::move(*unlike)};
  CORDON_CHECK(ready->fill(input, run, run_id));
  return ready;
}

Result<std::optional<std::string>> Prepared::take_note(const JudgedRun& run,
                                                       const std::string& run_id) {
  const bool leaves_something = !run.clamped.effective().write.empty() || !in_use.empty() ||
                                !run.request.private_directory.empty() ||
                                !run.backend->leftovers(run.plan, run.survey.facts, run_id).empty();
  if (!leaves_something) return std::nullopt;
  CORDON_TRY(written, RunNote::write(run.caller, note_of(run, branches, run_id)));
  note = std::move(written);
  return held_unlike_others(run, run_id);
}

Result<void> Prepared::fill(const RunInput& input, JudgedRun& run, const std::string& run_id) {
  const Effective& effective = run.clamped.effective();
  auto copied = copy_held(run);
  if (!copied) {
    return fail(beside_others(std::move(copied).error(), run.caller, effective, run_id));
  }
  copies = std::move(*copied);
  CORDON_TRY(made, make_stage(input, run, run_id));
  stage = std::move(made);
  auto keeping = keep_for(run, run_id);
  if (!keeping) {
    Error error = beside_others(std::move(keeping).error(), run.caller, effective, run_id);
    return fail(with_passed_over(std::move(error), run.choice, ask_this_host()));
  }
  kept = std::move(*keeping);
  removal.emplace(run.survey.facts, effective.write);
  CORDON_TRY(made_gate, make_gate(run));
  gate = std::move(made_gate);
  if (gate) CORDON_CHECK(write_trust(run.request, gate->certificate()));
  CORDON_TRY(made_broker, make_broker(input, run, gate.get()));
  if (made_broker) broker.emplace(std::move(*made_broker));
  CORDON_TRY(made_publisher, make_publisher(effective.net));
  if (made_publisher) publisher.emplace(std::move(*made_publisher));
  CORDON_TRY(opened, Streams::open(stream_request(input, effective.limits)));
  streams = std::move(opened);
  if (run.owner) CORDON_CHECK(streams->give_to(run.owner->uid, run.owner->gid));
  git_watch.emplace(watched_directories(run));
  return {};
}

}  // namespace cordon
