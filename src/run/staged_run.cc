#include "run/staged_run.h"

#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>

#include <algorithm>

#include "base/path.h"
#include "base/text.h"
#include "changes/stage_list.h"
#include "changes/stage_take.h"
#include "host/git/references.h"
#include "host/inspect.h"
#include "host/mount_table.h"
#include "host/own_programs.h"
#include "host/resolve.h"
#include "run/stage_courier.h"
#include "sys/calls.h"

namespace cordon {
namespace {

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
               .hint = "set XDG_STATE_HOME to a directory on a volume, a disk or a tmpfs"});
}

Result<void> refuse_root(const Grant& grant, const Caller& caller, const MountTable& mounts,
                         const Owner& mapped) {
  if (grant.kind != FileKind::Directory) {
    return fail(unstageable(grant, "it is not a directory", "grant the directory that it lies in"));
  }
  if (const std::string point = mounts.point_below(grant.path); !point.empty()) {
    return fail(unstageable(grant, "something is mounted below it, at " + quote(point),
                            "unmount that, or grant directories beside it with --write"));
  }
  const auto state = canonicalize(caller.state_directory, "/", caller);
  if (state && contains(grant.path, state->path)) {
    return fail(unstageable(grant, "Cordon's state directory lies in it",
                            "set XDG_STATE_HOME to a directory outside"));
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
                                std::to_string(mapped.gid) + " " + quote(grant.path) +
                                ", or run without --stage"));
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
                                BackendKind backend, const std::optional<Owner>& owner) {
  if (effective.mode != WriteMode::Staged || effective.write.empty()) return {};
  if (backend != BackendKind::Native) {
    return fail({.kind = ErrorKind::Unsupported,
                 .what = "writes cannot be staged by " + std::string(name_of(backend)),
                 .hint = "staging needs a mount view of Cordon's own: use --backend native where "
                         "cordon doctor says that it works"});
  }
  CORDON_CHECK(refuse_state_directory(caller));
  CORDON_TRY(mounts, MountTable::read());
  const Owner mapped = owner.value_or(Owner{caller.uid, caller.gid});
  for (const Grant& grant : effective.write) {
    CORDON_CHECK(refuse_root(grant, caller, mounts, mapped));
  }
  return {};
}

Result<void> refuse_review_of_tools(const RunInput& input, const Effective& effective) {
  const bool waits = effective.mode == WriteMode::Staged && effective.stage == StageEnd::Review;
  if (input.asker.tool.empty() || !waits || effective.write.empty()) return {};
  return fail(
      {.kind = ErrorKind::Unsupported,
       .what = "what a tool writes cannot wait for a review: the next call would not see it",
       .hint = "write stage = \"auto\" below [fs] for this server and in its ceilings"});
}

Result<std::optional<Stage>> make_stage(const JudgedRun& run, const std::string& run_id) {
  if (!is_staged(run)) return std::optional<Stage>();
  const Effective& effective = run.clamped.effective();
  StageRecord record;
  record.run_id = run_id;
  record.end = effective.stage;
  for (const Op& operation : run.plan.build) {
    const auto* tree = std::get_if<op::StagedTree>(&operation);
    if (tree != nullptr) record.roots.push_back({tree->path, tree->id, {}, {}});
  }
  record.deny = effective.deny;
  record.held = held_places(run.caller);
  record.held.protect = effective.protect;
  for (const NamedPath& named : run.clamped.named()) {
    record.named.push_back(named.lexical);
    if (named.path != named.lexical) record.named.push_back(named.path);
  }
  for (const Held& held : run.survey.facts.held) {
    record.holds.push_back({held.path, std::string(name_of(held.kind))});
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
  CORDON_TRY(stage, Stage::make(run.request.stage_directory, std::move(record), run.owner));
  return std::optional<Stage>(std::move(stage));
}

bool is_full_disk(const Stage& stage) {
  struct statfs system {};
  return ::statfs(stage.directory().c_str(), &system) == 0 &&
         (system.f_bavail == 0 || (system.f_files > 0 && system.f_ffree == 0));
}

Result<SettledStage> settle_stage(Stage& stage, const RunInput& input, const Caller& caller) {
  CORDON_TRY(incomplete, stage.close());
  CORDON_TRY(records, list_stage(stage.record()));
  SettledStage settled;
  if (records.empty()) {
    CORDON_CHECK(stage.remove());
    return settled;
  }
  Manifest manifest;
  manifest.run_id = stage.record().run_id;
  manifest.time_ns = now_in_ns();
  manifest.records = std::move(records);
  manifest.mode = WriteMode::Staged;
  manifest.stage = stage.directory();
  manifest.incomplete = incomplete;
  const std::string handoff = handoff_directory(caller.state_directory);
  CORDON_CHECK(write_manifest(handoff, manifest));
  if (stage.record().end == StageEnd::Auto) {
    StageCourier courier(input, caller);
    auto applied = apply_stage(handoff, manifest, stage, {}, &courier);
    if (!applied) settled.unapplied = std::move(applied).error();
    settled.recovered = courier.take_recovered();
  }
  settled.records = std::move(manifest.records);
  return settled;
}

Result<std::optional<Quarantined>> settle_cut_stage(const std::string& directory,
                                                    const Caller& caller) {
  if (Stage::drop_unfinished(directory)) return std::optional<Quarantined>();
  CORDON_TRY(opened, Stage::open(directory));
  if (!opened) return std::optional<Quarantined>();
  Stage& stage = *opened;
  const std::string& run_id = stage.record().run_id;
  const std::string handoff = handoff_directory(caller.state_directory);
  CORDON_TRY(earlier, read_manifest(handoff, run_id));
  Manifest manifest;
  if (earlier) {
    // It came as far as the list: what it was applying is finished or undone.
    manifest = std::move(*earlier);
    CORDON_CHECK(finish_batch(handoff, manifest, stage));
  } else {
    CORDON_TRY(incomplete, stage.close());
    CORDON_TRY(records, list_stage(stage.record()));
    if (records.empty()) {
      CORDON_CHECK(stage.remove());
      return std::optional<Quarantined>();
    }
    manifest.run_id = run_id;
    manifest.time_ns = now_in_ns();
    manifest.records = std::move(records);
    manifest.mode = WriteMode::Staged;
    manifest.stage = directory;
    manifest.incomplete = incomplete;
    CORDON_CHECK(write_manifest(handoff, manifest));
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
