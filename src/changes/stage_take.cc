#include "changes/stage_take.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/private_directory.h"
#include "base/text.h"
#include "changes/stage_batch.h"
#include "changes/stage_git_list.h"
#include "host/inspect.h"
#include "host/tree_copy.h"

namespace cordon {
namespace {

Result<void> drop_uppers(const Stage& stage) {
  for (const StagedRoot& root : stage.record().roots) {
    struct stat status {};
    if (::lstat(root.upper.c_str(), &status) == 0 && !remove_private_tree(root.upper)) {
      return fail(setup_error("cannot remove " + quote(root.upper), EBUSY));
    }
  }
  return {};
}

}  // namespace

Result<Taken> StageBatch::apply(const std::vector<std::string>& paths) {
  CORDON_CHECK(open());
  CORDON_CHECK(finish());
  plan_git(paths);
  choose(paths);
  judge(paths.empty() ? Asked::Everything : Asked::ByName);
  bar_parents();
  let_files_decide();
  bar_parents();  // of what has to wait for a merge
  drop_empty_directories();
  if (todo_.empty() && std::ranges::none_of(git_, &StageGit::has_work)) {
    settle_git();
    return end();
  }
  auto done = carry_out();
  if (done) return end();
  // A full disk, or a directory that nobody may write: what was begun is undone or told.
  (void)durable_.sync();
  (void)finish();
  return fail(std::move(done).error());
}

Result<Taken> StageBatch::restore(const std::vector<std::string>& paths) {
  CORDON_CHECK(open());
  CORDON_CHECK(finish());
  for (std::size_t i = 0; i < manifest_.records.size(); ++i) {
    const ChangeRecord& record = manifest_.records[i];
    if (record.state == State::Applied && !record.replaced.empty() && !is_git_record(record) &&
        is_selected(record, paths)) {
      todo_.push_back(i);
    }
  }
  plan_git_back(paths);
  if (todo_.empty() && std::ranges::none_of(git_, &StageGit::has_work)) {
    tell_refused();
    return std::move(taken_);
  }
  CORDON_TRY(word, new_word());
  manifest_.pending = std::move(word);
  CORDON_CHECK(write_manifest(handoff_, manifest_));
  lock_git();
  undo();
  for (StageGit& git : git_) {
    git.commit(durable_);
    git.write_merge_refs(durable_);
    taken_.done += git.settle_restored();
  }
  tell_refused();
  return end();
}

Result<void> StageBatch::open() {
  for (const StagedRoot& root : stage_.record().roots) {
    const auto seen = inspect_path(root.path);
    if (!seen || seen->id != root.id) {
      return fail(setup_error(
          quote(root.path) + " is not the directory any more that the run worked on", ESTALE,
          "move the directory back; what the run changed lies in " + quote(root.upper)));
    }
  }
  for (const StagedRoot& root : stage_.record().roots) {
    git_places_.push_back(open_canonical(join(root.path, ".git"), O_RDONLY | O_DIRECTORY));
  }
  CORDON_TRY(replaced, open_private_directory(replaced_place()));
  replaced_ = std::move(replaced);
  return {};
}

Result<Taken> apply_stage(const std::string& handoff, Manifest& manifest, const Stage& stage,
                          const std::vector<std::string>& paths, GitCourier* courier) {
  return StageBatch(handoff, manifest, stage, courier).apply(paths);
}

Result<Taken> restore_stage(const std::string& handoff, Manifest& manifest, const Stage& stage,
                            const std::vector<std::string>& paths) {
  return StageBatch(handoff, manifest, stage).restore(paths);
}

Result<Taken> discard_stage(const std::string& handoff, Manifest& manifest, const Stage& stage,
                            const std::vector<std::string>& paths) {
  CORDON_CHECK(finish_batch(handoff, manifest, stage));
  Taken taken;
  bool some_left = false;
  const auto waiting = [](const ChangeRecord& record) {
    return record.state == Change::State::Held || record.state == Change::State::Conflict;
  };
  // Of a run whose changes are all decided, what a restore would need is all that is left to drop.
  if (paths.empty() && std::ranges::none_of(manifest.records, waiting)) {
    for (ChangeRecord& record : manifest.records) {
      if (record.replaced.empty()) continue;
      record.replaced.clear();
      ++taken.done;
    }
    if (taken.done == 0) return taken;
    CORDON_CHECK(write_manifest(handoff, manifest));
    CORDON_CHECK(stage.remove());
    return taken;
  }
  for (ChangeRecord& record : manifest.records) {
    if (!waiting(record)) continue;
    if (!is_selected(record, paths)) {
      some_left = true;
      continue;
    }
    record.state = Change::State::Discarded;
    ++taken.done;
  }
  if (taken.done == 0) return taken;
  CORDON_CHECK(write_manifest(handoff, manifest));
  // What was applied and is restored waits again, and its version is nowhere else.
  const bool may_return = std::ranges::any_of(manifest.records, [](const ChangeRecord& record) {
    return record.state == Change::State::Applied && !record.replaced.empty();
  });
  if (!some_left && !may_return) CORDON_CHECK(drop_uppers(stage));
  return taken;
}

Result<void> finish_batch(const std::string& handoff, Manifest& manifest, const Stage& stage) {
  if (manifest.pending.empty()) return {};
  StageBatch batch(handoff, manifest, stage);
  CORDON_CHECK(batch.open());
  return batch.finish();
}

}  // namespace cordon
