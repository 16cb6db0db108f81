#include "run/staged_run.h"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>

#include <algorithm>

#include "base/path.h"
#include "base/text.h"
#include "changes/last_run.h"
#include "changes/run_lock.h"
#include "changes/stage_list.h"
#include "changes/stage_take.h"
#include "host/git/references.h"
#include "host/inspect.h"
#include "host/mount_table.h"
#include "host/own_programs.h"
#include "host/resolve.h"
#include "policy/decide.h"
#include "run/stage_courier.h"
#include "sys/calls.h"

namespace cordon {
namespace {

constexpr std::string_view kCopyInstead = "let the command work in a copy: --stage=copy";

Error unstageable(const Grant& grant, const std::string& why, std::string hint) {
  return {.kind = ErrorKind::Unsupported,
          .what = quote(grant.written) + " cannot be staged: " + why,
          .hint = std::move(hint)};
}

// The state directory may not be there yet.
std::string existing_part(std::string path) {
  struct stat status {};
  while (path != "/" && ::stat(path.c_str(), &status) != 0) path = std::string(parent(path));
  return path;
}

Result<void> refuse_state_directory(const Caller& caller) {
  struct statfs system {};
  const std::string place = existing_part(caller.state_directory);
  if (::statfs(place.c_str(), &system) != 0 ||
      static_cast<std::uint64_t>(system.f_type) != sys::kOverlayMagic) {
    return {};
  }
  return fail({.kind = ErrorKind::Unsupported,
               .what = "writes cannot be staged: the state directory " +
                       quote(caller.state_directory) +
                       " lies on an overlay, and the kernel puts no other one on top of it",
               .hint = "set XDG_STATE_HOME to a directory on a volume, a disk or a tmpfs, or " +
                       std::string(kCopyInstead)});
}

// What holds for an overlay and for a copy.
Result<void> refuse_place(const Grant& grant, const Caller& caller) {
  if (grant.kind != FileKind::Directory) {
    return fail(unstageable(grant, "it is not a directory", "grant the directory that it lies in"));
  }
  const auto state = canonicalize(caller.state_directory, "/", caller);
  if (state && contains(grant.path, state->path)) {
    return fail(unstageable(grant, "Cordon's state directory lies in it",
                            "set XDG_STATE_HOME to a directory outside"));
  }
  return {};
}

Result<void> refuse_overlay(const Grant& grant, const MountTable& mounts, const Owner& mapped) {
  if (const std::string point = mounts.point_below(grant.path); !point.empty()) {
    return fail(unstageable(
        grant, "something is mounted below it, at " + quote(point),
        "unmount that, grant directories beside it with --write, or " + std::string(kCopyInstead)));
  }
  struct stat status {};
  if (::lstat(grant.path.c_str(), &status) != 0) {
    return fail(setup_error("cannot look at " + quote(grant.path), errno));
  }
  if (status.st_uid != mapped.uid || status.st_gid != mapped.gid) {
    return fail(unstageable(grant,
                            "it belongs to user " + std::to_string(status.st_uid) + " and group " +
                                std::to_string(status.st_gid) + ", and the command is user " +
                                std::to_string(mapped.uid) + " and group " +
                                std::to_string(mapped.gid) + " and nobody else",
                            "chown -R " + std::to_string(mapped.uid) + ":" +
                                std::to_string(mapped.gid) + " " + quote(grant.path) + ", or " +
                                std::string(kCopyInstead)));
  }
  return {};
}

std::uint64_t now_in_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::vector<std::string> own_files(const Caller& caller) {
  std::vector<std::string> own;
  for (const std::string* place :
       {&caller.config_directory, &caller.state_directory, &caller.runtime_directory}) {
    if (place->empty()) continue;
    const auto found = canonicalize(*place, "/", caller);
    if (found) own.push_back(found->path);
  }
  for (std::string& program : own_programs(caller)) own.push_back(std::move(program));
  return own;
}

// Paths that a setting of git names as a program, or takes hooks or configuration from, and that
// are not there. What is there the survey has found and lists as held.
std::vector<std::string> unmade_references(const JudgedRun& run) {
  const UserGit user = read_user_git_config(run.caller);
  GitReferences references(run.caller, user);
  for (const Grant& grant : run.clamped.effective().write) references.add_above(grant.path);
  for (const GitDirectory& git : run.survey.facts.git) {
    references.add(git.path, GitRole::Main);
    for (const Held& part : git.pinned) {
      if (basename(parent(part.path)) == "worktrees") references.add(part.path, GitRole::Worktree);
      if (contains(join(git.path, "modules"), part.path) && is_git_directory(part.path)) {
        references.add(part.path, GitRole::Module);
      }
    }
  }
  std::vector<std::string> paths;
  for (const GitReference& reference : references.find()) {
    if (reference.certain && !inspect_path(reference.path)) paths.push_back(reference.path);
  }
  return paths;
}

}  // namespace

Result<void> refuse_unstageable(const Effective& effective, const Caller& caller,
                                BackendKind backend, const std::optional<Owner>& owner,
                                bool as_copy) {
  if (effective.mode != WriteMode::Staged || effective.write.empty()) return {};
  if (backend != BackendKind::Native) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "writes cannot be staged by " + std::string(name_of(backend)),
                 .hint = "staging needs a mount view of Cordon's own: use --backend native where "
                         "cordon doctor says that it works"});
  }
  for (const Grant& grant : effective.write) CORDON_CHECK(refuse_place(grant, caller));
  if (as_copy) return {};
  CORDON_CHECK(refuse_state_directory(caller));
  CORDON_TRY(mounts, MountTable::read());
  const Owner mapped = owner.value_or(Owner{caller.uid, caller.gid});
  for (const Grant& grant : effective.write) {
    CORDON_CHECK(refuse_overlay(grant, mounts, mapped));
  }
  return {};
}

Result<void> refuse_review_of_tools(const RunInput& input, const Effective& effective) {
  const bool waits = effective.mode == WriteMode::Staged && effective.stage == StageEnd::Review;
  if (input.asker.tool.empty() || !waits || effective.write.empty()) return {};
  if (input.stage_decision == StageDecision::ByPerson) return {};
  if (input.stage_decision == StageDecision::ByCaller) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "what the verify command accepts is applied, and cannot wait for a review",
                 .hint = "write stage = \"auto\" below [fs] in the policy and in its ceilings"});
  }
  return fail(
      {.kind = ErrorKind::Unsupported,
       .what = "what a tool writes cannot wait for a review: the next call would not see it",
       .hint = "write stage = \"auto\" below [fs] in its ceilings"});
}

namespace {

std::string stage_option(StageBase::How how) {
  return how == StageBase::How::Continue ? "--stage-from" : "--stage-fork";
}

Error unusable_base(const StageBase& base, const std::string& why, std::string hint) {
  return {.kind = ErrorKind::Unsupported,
          .what = stage_option(base.how) + " " + base.run + ": " + why,
          .hint = std::move(hint)};
}

Result<std::optional<Manifest>> read_base(const std::string& run, const Caller& caller) {
  const std::string handoff = handoff_directory(caller.state_directory);
  if (run != "last") return read_manifest(handoff, run);
  const auto is_base = [](const Manifest& one) {
    // One without changes is empty or another run's by now.
    return one.mode == WriteMode::Staged && !one.records.empty();
  };
  CORDON_TRY(last, find_last_run(handoff, caller, is_base));
  return std::move(last.here);
}

// Whether a run can go on from what is noted of another. What was applied is in the project; what
// was discarded in part would come back.
Result<void> check_base(const StageBase& base, const Manifest& manifest, const Caller& caller) {
  if (manifest.mode != WriteMode::Staged) {
    return fail(unusable_base(base, "that run was not staged",
                              "what it wrote is in the project: begin with --stage"));
  }
  const std::string owner = parent(manifest.stage) == stage_directories(caller.state_directory)
                                ? Stage::run_of(manifest.stage)
                                : std::string();
  if (!owner.empty() && owner != manifest.run_id) {
    return fail(unusable_base(base, "run " + owner + " went on in its stage",
                              stage_option(base.how) + " " + owner));
  }
  const auto has = [&](Change::State state) {
    return std::ranges::any_of(manifest.records,
                               [&](const ChangeRecord& one) { return one.state == state; });
  };
  if (!manifest.pending.empty()) {
    return fail(unusable_base(base, "its changes were being applied when that was cut off",
                              "cordon changes restore " + manifest.run_id + ", then try again"));
  }
  if (has(Change::State::Applied)) {
    return fail(unusable_base(base, "its changes were applied",
                              "begin with --stage: the project has them; or first take them back: "
                              "cordon changes restore " +
                                  manifest.run_id));
  }
  if (has(Change::State::Discarded) || owner.empty()) {
    return fail(unusable_base(base, "its changes were discarded", "begin with --stage"));
  }
  return {};
}

}  // namespace

Result<std::optional<FoundBase>> find_stage_base(const RunInput& input, const Effective& effective,
                                                 const Caller& caller) {
  if (!input.stage_base) return std::optional<FoundBase>();
  FoundBase base{*input.stage_base, {}, false, false};
  if (base.run != "last" && !is_run_id(base.run)) {
    return fail(
        usage_error(stage_option(base.how) + " " + quote(base.run) + ": not the id of a run",
                    "cordon changes list shows it, and last is the last one"));
  }
  if (effective.mode != WriteMode::Staged || effective.write.empty()) {
    return fail(unusable_base(base, "this run may write nothing, so there is nothing to stage",
                              "grant with --write what the run before could write"));
  }
  CORDON_TRY(manifest, read_base(base.run, caller));
  if (!manifest) {
    return fail(unusable_base(base, "there is no such stage",
                              "cordon changes list shows the runs whose changes wait"));
  }
  base.run = manifest->run_id;
  CORDON_CHECK(check_base(base, *manifest, caller));
  base.directory = manifest->stage;
  const auto record = Stage::peek(base.directory);
  base.waits = record && record->end == StageEnd::Review && !input.policy.options.stage;
  base.copy = record && record->copy;
  if (input.policy.options.copy_stage && !base.copy) {
    return fail(unusable_base(base, "its stage is an overlay, not a copy", "drop --stage=copy"));
  }
  return std::optional(std::move(base));
}

namespace {

std::string listed_roots(const StageRecord& record) {
  std::string text;
  for (const StagedRoot& root : record.roots) text += (text.empty() ? "" : ", ") + quote(root.path);
  return text;
}

// Copying takes a stage for a moment, and ten agents may begin with the same one. A run that works
// in it holds it until it ends, which is not waited for.
Result<std::optional<Stage>> open_when_free(const std::string& directory, StageBase::How how) {
  constexpr int kMostLooks = 500;
  constexpr long kBetweenNanoseconds = 20'000'000;
  for (int look = 1;; ++look) {
    auto opened = Stage::open(directory);
    if (opened || how == StageBase::How::Continue || look == kMostLooks) return opened;
    const timespec pause{0, kBetweenNanoseconds};
    ::nanosleep(&pause, nullptr);
  }
}

// Locked, and still as it was judged.
Result<Stage> open_base(const StageBase& base, const StageRecord& record, const JudgedRun& run) {
  CORDON_TRY(manifest, read_manifest(handoff_directory(run.caller.state_directory), base.run));
  if (!manifest) return fail(unusable_base(base, "its stage is gone", "begin with --stage"));
  auto opened = open_when_free(manifest->stage, base.how);
  if (!opened) {
    Error error = std::move(opened).error();
    error.what = stage_option(base.how) + " " + base.run + ": " + error.what;
    return fail(std::move(error));
  }
  if (!*opened) return fail(unusable_base(base, "its stage is gone", "begin with --stage"));
  CORDON_CHECK(check_base(base, *manifest, run.caller));
  Stage stage = std::move(**opened);
  if (!have_same_roots(stage.record(), record)) {
    return fail(unusable_base(
        base,
        "it staged " + listed_roots(stage.record()) + ", and this run " + listed_roots(record),
        "give the same --write options, in the same directory"));
  }
  const Owner mapped = run.owner.value_or(Owner{run.caller.uid, run.caller.gid});
  for (const StagedRoot& root : stage.record().roots) {
    struct stat status {};
    if (::lstat(root.upper.c_str(), &status) != 0) {
      return fail(setup_error("cannot look at " + quote(root.upper), errno));
    }
    if (status.st_uid == mapped.uid && status.st_gid == mapped.gid) continue;
    return fail(unusable_base(base, "it belongs to user " + std::to_string(status.st_uid),
                              "run as that user"));
  }
  return stage;
}

// What the refs of a repository were when the first run of the stage began: the layer's were made
// from those, and the host may have moved its own since.
void keep_first_refs(const StageRecord& base, StageRecord& record) {
  for (StagedRepository& one : record.repositories) {
    const auto same = std::ranges::find_if(base.repositories, [&](const StagedRepository& first) {
      return first.path == one.path && first.id == one.id;
    });
    if (same != base.repositories.end()) one.refs = same->refs;
  }
}

Result<Stage> stage_for(const RunInput& input, const JudgedRun& run, StageRecord record) {
  const std::string& directory = run.request.stage_directory;
  StageFor whom{run.owner, {}, input.tell_copying};
  for (const Masked& masked : run.survey.facts.masked) whom.unseen.insert(masked.path);
  if (!run.stage_base) return Stage::make(directory, std::move(record), whom);
  record.base = run.stage_base->run;
  CORDON_TRY(base, open_base(*run.stage_base, record, run));
  keep_first_refs(base.record(), record);
  if (run.stage_base->how == StageBase::How::Fork) {
    return Stage::fork(directory, std::move(record), whom, base);
  }
  if (auto resumed = base.resume(std::move(record), whom); !resumed) {
    (void)base.withdraw();
    return fail(std::move(resumed).error());
  }
  return base;
}

}  // namespace

Result<std::optional<Stage>> make_stage(const RunInput& input, const JudgedRun& run,
                                        const std::string& run_id) {
  if (!is_staged(run)) return std::optional<Stage>();
  const Effective& effective = run.clamped.effective();
  StageRecord record;
  record.run_id = run_id;
  record.end = run.stage_decision == StageDecision::ByPolicy ? effective.stage : StageEnd::Review;
  for (const Op& operation : run.plan.build) {
    const auto* tree = std::get_if<op::StagedTree>(&operation);
    if (tree != nullptr) record.roots.push_back({tree->path, tree->id, {}, {}, {}, {}});
  }
  record.copy = run.request.stage_is_copy;
  record.deny = effective.deny;
  record.held = held_places(run.caller);
  record.held.protect = effective.protect;
  for (const NamedPath& named : run.clamped.named()) {
    record.named.push_back(named.lexical);
    if (named.path != named.lexical) record.named.push_back(named.path);
  }
  for (const Held& held : run.survey.facts.held) {
    record.holds.push_back({held.path, reason_of(held)});
  }
  // A link in its place would lead a protected name elsewhere.
  for (const Pinned& pinned : run.survey.facts.pinned) {
    if (!pinned.is_protected_link()) continue;
    record.holds.push_back({pinned.path, std::string(name_of(*pinned.shows))});
  }
  for (const std::string& name : run.survey.snapshot.led) {
    Held end;
    end.link = name;
    if (const Result<Canonical> place = canonicalize(name, "/", run.caller))
      record.holds.push_back({place->path, reason_of(end)});
  }
  for (std::string& path : unmade_references(run)) {
    record.holds.push_back({std::move(path), std::string(name_of(HoldKind::Git))});
  }
  record.own = own_files(run.caller);
  for (const GitDirectory& git : run.survey.facts.git) {
    const auto covers = [&](const StagedRoot& root) { return contains(root.path, git.path); };
    if (std::ranges::none_of(record.roots, covers)) continue;
    record.repositories.push_back({git.path, git.id, read_git_refs(git.path)});
  }
  CORDON_TRY(stage, stage_for(input, run, std::move(record)));
  return std::optional<Stage>(std::move(stage));
}

bool is_full_disk(const Stage& stage) {
  struct statfs system {};
  return ::statfs(stage.directory().c_str(), &system) == 0 &&
         (system.f_bavail == 0 || (system.f_files > 0 && system.f_ffree == 0));
}

namespace {

// What is noted of the run that this one went on from, in its stage or in a copy of it.
Result<std::optional<Manifest>> base_of(const Stage& stage, const std::string& handoff) {
  if (stage.record().base.empty()) return std::optional<Manifest>();
  return read_manifest(handoff, stage.record().base);
}

// Lists and notes what changed. Without changes the stage is removed. A run that went on in the
// stage of another has all of it now: of that one nothing waits any more.
Result<Manifest> note_changes(Stage& stage, const std::string& handoff) {
  CORDON_TRY(incomplete, stage.close());
  CORDON_TRY(base, base_of(stage, handoff));
  CORDON_TRY(records,
             list_stage(stage.record(), base ? base->records : std::vector<ChangeRecord>()));
  Manifest manifest;
  manifest.run_id = stage.record().run_id;
  manifest.time_ns = now_in_ns();
  manifest.records = std::move(records);
  manifest.mode = WriteMode::Staged;
  manifest.stage = stage.directory();
  manifest.incomplete = incomplete || (base && base->incomplete);
  for (const StagedRoot& root : stage.record().roots) manifest.places.push_back(root.path);
  if (!manifest.records.empty()) CORDON_CHECK(write_manifest(handoff, manifest));
  if (base && base->stage == stage.directory() && !base->records.empty()) {
    base->records.clear();
    CORDON_CHECK(write_manifest(handoff, *base));
  }
  if (manifest.records.empty()) CORDON_CHECK(stage.remove());
  return manifest;
}

}  // namespace

Result<SettledStage> settle_stage(Stage& stage, const RunInput& input, const Caller& caller) {
  const std::string handoff = handoff_directory(caller.state_directory);
  CORDON_TRY(manifest, note_changes(stage, handoff));
  SettledStage settled;
  if (manifest.records.empty()) return settled;
  if (stage.record().end == StageEnd::Auto) {
    StageCourier courier(input, caller);
    auto applied = apply_stage(handoff, manifest, stage, {}, &courier);
    if (!applied) settled.unapplied = std::move(applied).error();
    settled.recovered = courier.take_recovered();
  }
  settled.records = std::move(manifest.records);
  return settled;
}

bool left_changes(const Report& report) {
  return std::ranges::any_of(report.changes, [](const Change& change) {
    return change.state == Change::State::Held || change.state == Change::State::Conflict;
  });
}

Result<DecidedStage> decide_stage(const std::string& run_id, StageFate fate, const RunInput& input,
                                  const Caller& caller) {
  const std::string handoff = handoff_directory(caller.state_directory);
  CORDON_TRY(lock, RunLock::take(caller.state_directory, run_id));
  CORDON_TRY(noted, read_manifest(handoff, run_id));
  DecidedStage decided;
  if (!noted || noted->mode != WriteMode::Staged) return decided;
  CORDON_TRY(stage, Stage::open(noted->stage));
  if (!stage || stage->record().run_id != run_id) {
    return fail(setup_error("the stage of run " + run_id + " is gone", 0));
  }
  StageCourier courier(input, caller);
  CORDON_TRY(taken, fate == StageFate::Apply ? apply_stage(handoff, *noted, *stage, {}, &courier)
                                             : discard_stage(handoff, *noted, *stage, {}));
  decided.records = std::move(noted->records);
  decided.conflicts = std::move(taken.conflicts);
  return decided;
}

Result<std::optional<Quarantined>> settle_cut_stage(const std::string& directory,
                                                    const std::string& run_id,
                                                    const Caller& caller) {
  if (Stage::drop_unfinished(directory)) return std::optional<Quarantined>();
  CORDON_TRY(opened, Stage::open(directory));
  if (!opened) return std::optional<Quarantined>();
  Stage& stage = *opened;
  // Killed before it had the stage that it was to go on in: that is as it was.
  if (stage.record().run_id != run_id) return std::optional<Quarantined>();
  const std::string handoff = handoff_directory(caller.state_directory);
  CORDON_TRY(earlier, read_manifest(handoff, run_id));
  Manifest manifest;
  if (earlier) {
    // It came as far as the list: what it was applying is finished or undone.
    manifest = std::move(*earlier);
    CORDON_CHECK(finish_batch(handoff, manifest, stage));
  } else {
    CORDON_TRY(noted, note_changes(stage, handoff));
    manifest = std::move(noted);
  }
  const bool waits = std::ranges::any_of(manifest.records, [](const ChangeRecord& record) {
    return record.state == Change::State::Held || record.state == Change::State::Conflict;
  });
  if (!waits) return std::optional<Quarantined>();
  const std::string root =
      stage.record().roots.empty() ? std::string(".") : stage.record().roots.front().path;
  return std::optional(Quarantined{root,
                                   "unchecked: run " + run_id +
                                       " was cut off; what it changed waits: cordon changes list " +
                                       run_id,
                                   {}});
}

}  // namespace cordon
