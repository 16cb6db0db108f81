#include "run/settle.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/path.h"
#include "base/text.h"
#include "changes/lost_list.h"
#include "host/known_directories.h"
#include "host/post_run_scan.h"
#include "host/search_turn.h"
#include "plan/tree.h"
#include "policy/decide.h"
#include "policy/effective.h"
#include "run/held_run.h"
#include "run/lost_output.h"
#include "run/run_record.h"
#include "run/staged_run.h"

namespace cordon {
namespace {

std::string sized(std::string_view key, const std::optional<std::uint64_t>& bytes) {
  return bytes ? std::string(key) + " = \"" + format_size(*bytes) + "\"" : std::string();
}

std::string lasting(std::string_view key, const std::optional<std::uint64_t>& ms) {
  return ms ? std::string(key) + " = \"" + format_duration(*ms) + "\"" : std::string();
}

std::string rule_of(const Effective& effective, const Denial& denial) {
  const Limits& limits = effective.limits;
  if (denial.what == "connect") {
    return denial.detail.ends_with("net.sockets") ? "net.sockets" : std::string();
  }
  if (denial.what == "memory") return sized("limits.memory", limits.memory);
  if (denial.what == "scratch") return sized("fs.scratch", effective.scratch);
  if (denial.what == "output" && !is_lost_output(denial)) {
    return sized("limits.output_total", limits.output_total);
  }
  if (denial.what == "file_size") return sized("limits.file_size", limits.file_size);
  if (denial.what == "sent") return sized("limits.sent", limits.sent);
  if (denial.what == "cpu") return lasting("limits.cpu", limits.cpu_ms);
  if (denial.what == "pids" && limits.pids) return "limits.pids = " + std::to_string(*limits.pids);
  return {};
}

// Which line of a policy set the limit that a run met: a denial without it is a number from
// nowhere. Fills in the rule of denials that the kernel, a watch or the broker told without one: of
// limits, and of sockets of the host.
void name_rules(const Effective& effective, std::vector<Denial>& denials) {
  for (Denial& denial : denials) {
    if (denial.rule.empty()) denial.rule = rule_of(effective, denial);
  }
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

// What the run wrote to private places, told in the report and in `cordon changes list`. They are
// closed with that: the last who holds them takes their file system down, and the sandbox's init
// does it meanwhile.
void tell_gone(GonePlaces places, const JudgedRun& run, Report& report) {
  Given given;
  given.files[join(run.caller.home, ".gitconfig")] = run.survey.facts.gitconfig;
  for (const HomeFile& file : run.survey.facts.home_files)
    given.files[join(run.caller.home, file.name)] = file.content;
  // A runtime mounts what native writes there.
  const bool bundled = std::ranges::any_of(run.plan.build, [](const Op& operation) {
    return std::holds_alternative<op::RunBundle>(operation);
  });
  for (const auto& [path, content] : given.files) {
    if (bundled) given.mounted.insert(path);
  }
  for (const std::vector<Grant>* grants :
       {&run.clamped.effective().read, &run.clamped.effective().write}) {
    for (const Grant& grant : *grants) given.mounted.insert(grant.path);
  }
  const Effective& effective = run.clamped.effective();
  for (const LinkedName& one : linked_names({effective.read, effective.write}, run.caller))
    given.mounted.insert(one.name);
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
  tell(GonePlace::Shm, "/dev/shm", "private /dev/shm");
  tell(GonePlace::Run, "/run", "private /run");
  // The report has it all; who cannot write this note loses nothing but the list.
  if (report.changes.empty()) return;
  std::vector<std::string> at{run.caller.cwd};
  for (const Grant& grant : effective.write) at.push_back(grant.path);
  (void)note_lost(run.caller.state_directory, report.run_id, report.changes, std::move(at));
}

// The command ran, so there is an outcome, whatever becomes of its stage.
void end_stage(const RunInput& input, Stage& stage, const JudgedRun& run, Report& report,
               Outcome& outcome, RunNote& note) {
  if (is_full_disk(stage)) {
    outcome.denials.push_back({"stage", "the disk that it lies on is full", "disk", 1});
  }
  report.stage = StageUse{stage.record().base, stage_size(stage.directory())};
  auto settled = settle_stage(stage, input, run.caller);
  if (!settled) {
    note.leave();
    outcome.handoff.push_back({".", "unchecked: " + message(settled.error()), {}});
    return;
  }
  if (settled->unapplied) {
    outcome.handoff.push_back({".", "unchecked: " + message(*settled->unapplied), {}});
  }
  std::ranges::move(settled->recovered, std::back_inserter(outcome.handoff));
  std::ranges::move(changes_of(settled->records, run.caller.cwd),
                    std::back_inserter(report.changes));
}

// What was put back and was then removed with the rest of a tree, which the run had removed.
void forget_removed(std::vector<Quarantined>& handoff, const std::vector<ChangeRecord>& records,
                    const std::string& cwd) {
  std::erase_if(handoff, [&](const Quarantined& one) {
    if (!one.restored || !one.moved_to.empty()) return false;
    const std::string path = one.path.starts_with('/') ? one.path : join(cwd, one.path);
    return std::ranges::any_of(records, [&](const ChangeRecord& record) {
      return record.state == Change::State::Applied && record.change == Change::Kind::Deleted &&
             contains(record.path, path);
    });
  });
}

// Of what was put back and has an ordinary name, the protected one that leads there.
void name_links(std::vector<Quarantined>& handoff, const JudgedRun& run) {
  for (Quarantined& one : handoff) {
    if (!one.restored) continue;
    const std::string path = one.path.starts_with('/') ? one.path : join(run.caller.cwd, one.path);
    const auto held = std::ranges::find_if(
        run.survey.facts.held, [&](const Held& entry) { return contains(entry.path, path); });
    if (held != run.survey.facts.held.end() && !held->link.empty()) one.kind = reason_of(*held);
  }
}

// What appeared in the writable trees, and what became of the private copies.
void settle_trees(const RunInput& input, const JudgedRun& run, Prepared& ready, Outcome& outcome,
                  Report& report) {
  const std::vector<Grant>& writable = run.clamped.effective().write;
  std::set<std::string> git_directories;
  // To the end: what is put back below is written by name as well.
  auto turn = SearchTurn::wait_for(run.caller.state_directory, writable);
  auto handoff =
      turn ? post_run_scan(writable, run.clamped.effective().deny, run.caller, run.survey.snapshot,
                           join(run.caller.state_directory, "handoff"), report.run_id,
                           ready.kept ? &*ready.kept : nullptr, run.survey.roots, &git_directories)
           : fail(std::move(turn).error());
  if (handoff) {
    // Before anything is asked about branches, and before the note may go.
    if (auto noted = ready.branches.note_written(run.caller, git_directories); !noted) {
      handoff = fail(std::move(noted).error());
    }
  }
  if (handoff) {
    for (const SearchRoot& root : run.survey.roots)
      if (root.directories) root.directories->write();
    outcome.handoff = std::move(*handoff);
    if (ready.kept) ready.kept->discard();
    mark_moved_in_clones(outcome.handoff, run);
    name_links(outcome.handoff, run);
    std::vector<Quarantined> recovered;
    const auto pass = [&](std::vector<ChangeRecord>& records) {
      PassedTracked passed = pass_tracked(input, run, ready.branches, report.run_id, records);
      recovered = std::move(passed.recovered);
      return std::move(passed.paths);
    };
    auto settled = settle_held(ready.copies, &*ready.removal, outcome.handoff, writable, run.caller,
                               report.run_id, pass);
    if (settled) {
      forget_passed(outcome.handoff, *settled);
      forget_removed(outcome.handoff, *settled, run.caller.cwd);
      std::ranges::move(recovered, std::back_inserter(outcome.handoff));
      std::ranges::move(changes_of(*settled, run.caller.cwd), std::back_inserter(report.changes));
    } else {
      ready.note.leave();
      ready.private_tree.leave();
      outcome.handoff.push_back({".", "unchecked: " + message(settled.error()), {}});
    }
  } else {
    ready.private_tree.leave();
    // The command ran, so there is an outcome; what could not be looked at is said in it, and
    // stays known to the next start.
    ready.note.leave();
    outcome.handoff.push_back({".", "unchecked: " + message(handoff.error()), {}});
  }
}

}  // namespace

Result<std::vector<Quarantined>> search_now(const JudgedRun& run, const std::string& run_id) {
  const std::vector<Grant>& writable = run.clamped.effective().write;
  CORDON_TRY(turn, SearchTurn::wait_for(run.caller.state_directory, writable));
  std::set<std::string> git_directories;
  return post_run_scan(writable, run.clamped.effective().deny, run.caller, run.survey.snapshot,
                       join(run.caller.state_directory, "handoff"), run_id, nullptr,
                       run.survey.roots, &git_directories);
}

void settle(const RunInput& input, const JudgedRun& run, Prepared& prepared, GonePlaces gone_places,
            Outcome& outcome, Report& report) {
  name_rules(run.clamped.effective(), outcome.denials);
  tell_gone(std::move(gone_places), run, report);
  if (prepared.stage) {
    end_stage(input, *prepared.stage, run, report, outcome, prepared.note);
  } else if (!run.clamped.effective().write.empty()) {
    settle_trees(input, run, prepared, outcome, report);
  }
}

}  // namespace cordon
