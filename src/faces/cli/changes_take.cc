// cordon changes apply, discard and restore: taking what a run held back, or not.
#include <algorithm>
#include <functional>

#include "base/path.h"
#include "base/text.h"
#include "changes/run_lock.h"
#include "changes/stage.h"
#include "changes/stage_git_list.h"
#include "changes/stage_judge.h"
#include "changes/stage_take.h"
#include "changes/take.h"
#include "compat/backends.h"
#include "faces/cli/changes_asked.h"
#include "faces/cli/console.h"
#include "faces/cli/verbs.h"
#include "run/policy_source.h"
#include "run/stage_courier.h"

namespace cordon {
namespace {

using Take = Result<Taken> (*)(const std::string&, Manifest&, const std::vector<std::string>&);
using TakeStage = std::function<Result<Taken>(const std::string&, Manifest&, const Stage&,
                                              const std::vector<std::string>&)>;
struct Step {
  Take live;
  TakeStage staged;
  std::string_view done;  // "applied"
};

Result<Taken> take_from(const Step& step, AskedChanges& asked) {
  Manifest& manifest = *asked.manifest;
  CORDON_TRY(lock, RunLock::take(asked.caller.state_directory, manifest.run_id));
  if (manifest.mode == WriteMode::Live) {
    // Somebody else may have worked on it until now, or removed it.
    CORDON_TRY(now, read_manifest(asked.handoff, manifest.run_id));
    if (!now) return Taken{};
    manifest = std::move(*now);
    const std::vector<ChangeRecord> before = manifest.records;
    auto taken = step.live(asked.handoff, manifest, asked.paths);
    auto unmarked = follow_in_indexes(before, manifest.records, asked.caller);
    if (taken) taken->unmarked = std::move(unmarked);
    return taken;
  }
  // Only one of ours, whatever the note says.
  const std::string place = stage_directories(asked.caller.state_directory);
  if (parent(manifest.stage) != place || has_dotdot(manifest.stage)) {
    return fail(setup_error("run " + manifest.run_id + " has no stage below " + quote(place), 0));
  }
  CORDON_TRY(stage, Stage::open(manifest.stage));
  if (!stage) return Taken{};
  CORDON_TRY(now, read_manifest(asked.handoff, manifest.run_id));
  if (now) manifest = std::move(*now);
  CORDON_CHECK(refuse_continued(manifest, asked.caller));
  return step.staged(asked.handoff, manifest, *stage, asked.paths);
}

// What waits still, and how to take it: each protected object once.
void say_waiting(const AskedChanges& asked, const Taken& taken, std::string_view done) {
  constexpr std::size_t kMost = 10;
  for (std::size_t i = 0; i < taken.refused.size(); ++i) {
    if (i == kMost) {
      say("cordon: and " + std::to_string(taken.refused.size() - kMost) + " more like these\n");
      break;
    }
    const Taken::Refused& one = taken.refused[i];
    // Of commits the reason says what to do.
    const bool cured = is_never_applied(one.reason);
    say("cordon: not " + std::string(done) + ": " + quote(one.path) + ": " +
        (cured ? with_cure(one.reason) : one.reason) + "\n");
  }
  if (done != "applied" || asked.manifest->mode == WriteMode::Live || !asked.paths.empty()) return;
  std::vector<std::string> told;
  for (const ChangeRecord& record : asked.manifest->records) {
    if (record.state != Change::State::Held || record.reason.empty()) continue;
    if (is_git_record(record) || record.reason.starts_with(kCommitted)) continue;
    if (std::ranges::find(told, record.top) != told.end()) continue;
    told.push_back(record.top);
    if (told.size() > kMost) {
      say("cordon: and more; cordon changes list " + asked.manifest->run_id + "\n");
      return;
    }
    const bool never = is_never_applied(record.reason);
    say("cordon: held back: " + quote(record.top) + " (" + record.reason + "); " +
        (never ? std::string(cure_of_unapplied(record.reason))
               : "cordon changes apply " + asked.manifest->run_id + " " + quote(record.top)) +
        "\n");
  }
}

void say_how_to_take(const std::string& run_id, const std::string& path) {
  const std::string word = quote(path);
  say("hint: to take the run's: mv " + word + " " + quote(path + ".mine") +
      " && cordon changes apply " + run_id + " " + word +
      "; to keep yours: cordon changes discard " + run_id + " " + word + "\n");
}

int take(const Arguments& arguments, const Step& step) {
  const std::string_view verb = step.done;
  auto asked = ask_changes(arguments, AskedFor::Taking);
  if (!asked) return answer_error(asked.error());
  if (!asked->manifest) return answer_nothing(arguments, *asked);
  const auto taken = take_from(step, *asked);
  if (!taken) return answer_error(taken.error());
  if (!arguments.has(FlagId::Json) && verb != "discarded") say_waiting(*asked, *taken, verb);
  for (const Error& error : taken->unmarked) {
    say("cordon: " + message(error) + ", so git " +
        (verb == "applied" ? "does not show what becomes of the file"
                           : "will take the file for deleted") +
        "\nhint: " + error.hint + "\n");
  }
  const bool told = asked->manifest->mode == WriteMode::Live && !taken->refused.empty();
  if (taken->done == 0 && taken->conflicts.empty() && !told)
    return answer_nothing(arguments, *asked);
  if (arguments.has(FlagId::Json)) {
    if (!say_answer(changes_json(*asked))) return kAnswerError;
  } else {
    for (const std::string& path : taken->conflicts) {
      say("cordon: conflict: " + quote(path) +
          " has changed since the run began; both versions are kept\n");
      if (asked->manifest->mode == WriteMode::Staged)
        say_how_to_take(asked->manifest->run_id, path);
    }
    if (taken->done > 0) {
      say("cordon: " + std::string(verb) + " " + std::to_string(taken->done) +
          (taken->done == 1 ? " change" : " changes") + " of run " + asked->manifest->run_id +
          "\n");
    }
  }
  return taken->conflicts.empty() && taken->refused.empty() ? kAnswerYes : kAnswerNo;
}

}  // namespace

int verb_changes_apply(const Arguments& arguments) {
  const Take apply = [](const std::string& handoff, Manifest& manifest,
                        const std::vector<std::string>& paths) {
    return apply_changes(handoff, manifest, paths);
  };
  const TakeStage staged = [](const std::string& handoff, Manifest& manifest, const Stage& stage,
                              const std::vector<std::string>& paths) -> Result<Taken> {
    CORDON_TRY(caller, identify_caller());
    CORDON_TRY(ceilings, load_ceilings({}, caller));
    RunInput input;
    input.ceilings = std::move(ceilings);
    input.backends = every_backend(caller);
    StageCourier courier(input, caller);
    return apply_stage(handoff, manifest, stage, paths, &courier);
  };
  return take(arguments, {apply, staged, "applied"});
}
int verb_changes_discard(const Arguments& arguments) {
  return take(arguments, {discard_changes, discard_stage, "discarded"});
}
int verb_changes_restore(const Arguments& arguments) {
  return take(arguments, {restore_changes, restore_stage, "restored"});
}

}  // namespace cordon
