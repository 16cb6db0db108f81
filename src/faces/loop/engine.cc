#include "faces/loop/engine.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "faces/loop/progress.h"
#include "faces/loop/readiness.h"
#include "faces/loop/tree_state.h"
#include "policy/names.h"

namespace cordon::loop {
namespace {

constexpr std::size_t kMostNamed = 20;  // files of one attempt

// With what the agent wrote into a private copy of a protected file: the host has its own version
// back, and nobody may take the agent's for done.
std::vector<Quarantined> handoff_of(const Report& report) {
  std::vector<Quarantined> told = report.outcome->handoff;
  std::erase_if(told, tells_removal);  // of earlier runs, and told apart
  for (const Change& change : report.changes) {
    const auto same = [&](const Quarantined& one) { return one.path == change.path; };
    if (change.state != Change::State::Held || std::ranges::any_of(told, same)) continue;
    // An ordinary change of a stage.
    if (change.reason.empty()) continue;
    told.push_back({change.path, change.reason, {}, true, {}});
  }
  return told;
}

// So often may an attempt leave the tree as it was before the feature is given up.
constexpr unsigned kIdleAttempts = 2;
constexpr std::size_t kLongestNote = 4096;

// Hears an agent and passes on what it tells, as it tells it.
class OutputTap {
 public:
  OutputTap(StreamForm form, Display& display)
      : display_(display),
        stream_(form,
                [this](AgentEvent event) {
                  if (const auto* spent = std::get_if<Spent>(&event)) spent_ = *spent;
                  display_.show(AgentTold{std::move(event)});
                }),
        notes_(kLongestNote) {}

  void output(OutputFrom from, std::string_view bytes) {
    if (from == OutputFrom::Out) return stream_.add(bytes);
    notes_.add(bytes, [this](const Line& line) { note(line); });
  }
  void finish() {
    stream_.finish();
    notes_.finish([this](const Line& line) { note(line); });
  }
  [[nodiscard]] Spent spent() const { return spent_; }

 private:
  void note(const Line& line) {
    const bool whole = line.kind == Line::Kind::Whole;
    display_.show(AgentNoted{whole ? line.text : "a line past every bound"});
  }

  Display& display_;
  AgentStream stream_;
  LineSplitter notes_;
  Spent spent_;
};

}  // namespace

Engine::Engine(LoopInput input, const ProgressFile& file, audit::Recorder& recorder,
               Display& display, Control& control)
    : input_(std::move(input)),
      file_(file),
      display_(display),
      control_(control),
      runs_(input_, recorder, display, control) {}

LoopEnded Engine::end(LoopEnded::Why why, std::string reason, std::optional<Error> error) const {
  return {why, std::move(reason), std::move(error), progress_.features};
}

// The program that is not there inside is the person's affair; everything else that keeps a command
// from starting is a doubt about containment.
LoopEnded Engine::uncontained(const Error& error) const {
  const bool program = error.kind == ErrorKind::Command;
  return end(program ? LoopEnded::Why::Failed : LoopEnded::Why::Uncontained, {}, error);
}

LoopEnded Engine::run(Progress progress) {
  progress_ = std::move(progress);
  Stop stop = probe();
  for (std::size_t i = 0; !stop && i < progress_.features.size(); ++i) {
    if (progress_.features[i].state == FeatureState::Pending) stop = work_on(i);
  }
  if (!stop) {
    std::size_t left = 0;
    for (const FeatureProgress& one : progress_.features) {
      if (one.state != FeatureState::Done) ++left;
    }
    stop = left == 0 ? end(LoopEnded::Why::Complete, {})
                     : end(LoopEnded::Why::Incomplete,
                           std::to_string(left) + " of " +
                               std::to_string(progress_.features.size()) + " are not done");
  }
  if (stop->why == LoopEnded::Why::Incomplete && !rejected_login_.empty()) {
    stop->reason += "; " + rejected_login_;
  }
  display_.show(*stop);
  return *std::move(stop);
}

Engine::Stop Engine::probe() {
  display_.show(ProbeStarted{});
  auto ready = check_readiness(input_, runs_, control_);
  if (auto stop = stopped()) return stop;
  if (!ready) return uncontained(ready.error());
  LoopStarted started{input_.caller.cwd,
                      input_.agent.name,
                      ready->probe.enforcement,
                      progress_.features,
                      {},
                      ready->probe.credential,
                      std::move(ready->warnings)};
  surroundings_ = describe_surroundings(input_.policy, ready->probe);
  for (const Feature& feature : input_.features) started.titles.push_back(feature.title);
  display_.show(started);
  return std::nullopt;
}

Engine::Stop Engine::stopped() const {
  if (!control_.quitting()) return std::nullopt;
  return end(LoopEnded::Why::Stopped, "a person or a signal asked for the end");
}

Engine::Stop Engine::over_budget() const {
  const Budget& budget = input_.budget;
  const Spent spent = progress_.spent();
  const auto used_up = [&](const char* what) {
    return end(LoopEnded::Why::Incomplete, std::string("the ") + what + " budget is used up");
  };
  if (budget.wall_ms && progress_.wall_ms() >= *budget.wall_ms) return used_up("time");
  if (budget.tokens && spent.tokens >= *budget.tokens) return used_up("token");
  if (budget.micro_dollars && spent.micro_dollars >= *budget.micro_dollars) return used_up("cost");
  return std::nullopt;
}

Engine::Stop Engine::save() {
  const auto written = file_.write(progress_);
  if (written) return std::nullopt;
  return end(LoopEnded::Why::Failed, {}, written.error());
}

Engine::Stop Engine::work_on(std::size_t index) {
  const Feature& feature = input_.features[index];
  FeatureProgress& progress = progress_.features[index];
  const std::uint64_t most = feature.attempts.value_or(input_.budget.attempts);
  std::optional<VerifyEnded> last;
  unsigned idle = 0;
  if (progress.attempts < most) {
    if (auto stop = baseline(feature)) return stop;
    if (auto stop = input_.commit ? note_tree() : std::nullopt) return stop;
  }
  while (progress.state == FeatureState::Pending) {
    if (progress.attempts >= most) {
      progress.state = FeatureState::Failed;
      if (progress.reason.empty()) progress.reason = "no attempt is left";
      break;
    }
    control_.wait_while_paused([this](bool paused) {
      display_.show(paused ? LoopEvent(Paused{}) : LoopEvent(Resumed{}));
    });
    if (auto stop = stopped()) return stop;
    if (control_.take_skip()) {
      progress.state = FeatureState::Skipped;
      progress.reason = "skipped by a person";
      break;
    }
    if (auto stop = over_budget()) return stop;
    if (auto stop = attempt(index, last)) return stop;
    idle = changed_ ? 0 : idle + 1;
    if (progress.state == FeatureState::Pending && idle >= kIdleAttempts) {
      progress.state = FeatureState::Failed;
      progress.reason = "no progress: " + std::to_string(idle) + " attempts changed nothing";
      if (passed_before_) progress.reason += ", and the verify command passes without them";
    }
  }
  if (auto stop = save()) return stop;
  display_.show(FeatureEnded{progress});
  if (progress.state == FeatureState::Done && input_.commit) return commit(feature);
  return std::nullopt;
}

Engine::Stop Engine::baseline(const Feature& feature) {
  if (auto stop = stopped()) return stop;
  display_.show(BaselineStarted{feature.id, feature.verify});
  const Report report = runs_.run(
      run_input(input_, Role::Verify, {"/bin/sh", "-c", feature.verify}, feature.id + "/before"));
  if (report.error) return uncontained(*report.error);
  // Of a staged loop: nothing of it is anybody's work.
  if (report.stage && left_changes(report)) {
    RunInput git;
    if (auto bounded = runs_.bound(git); !bounded) {
      return end(LoopEnded::Why::Failed, {}, bounded.error());
    }
    const auto dropped = decide_stage(report.run_id, StageFate::Discard, git, input_.caller);
    if (!dropped) return end(LoopEnded::Why::Failed, {}, dropped.error());
  }
  const int status = exit_status(report.outcome->end);
  passed_before_ = std::holds_alternative<Exited>(report.outcome->end) && status == 0;
  if (auto stop = stopped()) return stop;
  display_.show(BaselineEnded{feature.id, passed_before_, status});
  return std::nullopt;
}

void Engine::tell_changes(std::vector<std::string> files) {
  if (files.empty()) return;
  FilesChanged event{files.size(), std::move(files)};
  if (event.files.size() > kMostNamed) event.files.resize(kMostNamed);
  display_.show(event);
}

Engine::Stop Engine::attempt(std::size_t index, std::optional<VerifyEnded>& last) {
  const Feature& feature = input_.features[index];
  FeatureProgress& progress = progress_.features[index];
  ++progress.attempts;
  // Before the agent starts: one that is killed together with Cordon has had its attempt.
  if (auto stop = save()) return stop;
  display_.show(AttemptStarted{feature.id, feature.title, progress.attempts,
                               feature.attempts.value_or(input_.budget.attempts)});
  stage_.reset();
  const auto before = TreeState::of(input_.caller.cwd);
  if (auto stop = run_agent(index, last)) return stop;
  // What a staged attempt changed is not in the project. A tree that cannot be looked at whole may
  // have changed.
  const auto after = TreeState::of(input_.caller.cwd);
  changed_ = stage_ ? stage_->changed : !before || !after || *before != *after;
  if (!stage_ && before && after) tell_changes(before->changes_to(*after));
  if (auto stop = save()) return stop;
  if (auto stop = stopped()) return stop;
  if (control_.take_skip()) {
    progress.state = FeatureState::Skipped;
    progress.reason = "skipped by a person";
    return end_stage(StageFate::Discard, nullptr);
  }
  VerifyEnded result;
  if (auto stop = verify(feature, result)) return stop;
  std::string lost;
  if (auto stop = end_stage(result.accepted ? StageFate::Apply : StageFate::Discard, &lost)) {
    return stop;
  }
  result.discarded = stage_ && !result.accepted;
  if (result.accepted && !lost.empty()) {
    // Another attempt would meet the same, and the accepted work would be lost with this one.
    progress.state = FeatureState::Failed;
    progress.reason = std::move(lost);
  } else if (result.accepted) {
    progress.state = FeatureState::Done;
    progress.reason.clear();
  } else {
    progress.reason = result.refused.empty()
                          ? "the verify command ended with status " + std::to_string(result.status)
                          : "the verify command " + result.refused;
  }
  last = std::move(result);
  return std::nullopt;
}

Engine::Stop Engine::run_agent(std::size_t index, const std::optional<VerifyEnded>& last) {
  const Feature& feature = input_.features[index];
  FeatureProgress& progress = progress_.features[index];
  RunInput input = run_input(input_, Role::Agent, input_.agent.argv,
                             feature.id + "/" + std::to_string(progress.attempts));
  input.why = input_.why;
  input.cures = true;  // for the person; what the agent hears is its own streams
  std::uint64_t wall = feature.wall_ms.value_or(input_.budget.attempt_wall_ms);
  if (input_.budget.wall_ms) wall = std::min(wall, *input_.budget.wall_ms - progress_.wall_ms());
  input.policy.limits.wall_ms = std::min(wall, input.policy.limits.wall_ms.value_or(wall));
  input.streams.in = Input::of_bytes(build_prompt(feature, last, surroundings_));
  OutputTap tap(input_.agent.form, display_);
  input.streams.out = Output::heard_by(
      [&tap](OutputFrom from, std::string_view bytes) { tap.output(from, bytes); });
  const Report report = runs_.run(std::move(input));
  tap.finish();
  if (report.error) return uncontained(*report.error);
  if (report.stage) {
    const bool changed = left_changes(report);
    stage_ = AttemptStage{changed ? report.run_id : std::string(), changed};
  }
  agent_status_ = exit_status(report.outcome->end);
  progress.wall_ms += report.outcome->duration_ms;
  progress.spent.tokens += tap.spent().tokens;
  progress.spent.micro_dollars += tap.spent().micro_dollars;
  display_.show(AgentEnded{report.outcome->end, report.outcome->duration_ms,
                           report.outcome->denials, handoff_of(report)});
  tell_login(report);
  return std::nullopt;
}

// A login that its service refuses fails every attempt in the same way: said with the first, and at
// the end of a loop whose last attempt met it. One that was renewed meanwhile is forgotten.
void Engine::tell_login(const Report& report) {
  std::string text;
  if (report.credential) {
    text = rejected_login(*report.credential, report.outcome->requests).value_or("");
  }
  if (std::exchange(rejected_login_, text) != text && !text.empty()) {
    display_.show(Warned{text, {}});
  }
}

Engine::Stop Engine::verify(const Feature& feature, VerifyEnded& result) {
  display_.show(VerifyStarted{feature.verify});
  RunInput input = run_input(input_, Role::Verify, {"/bin/sh", "-c", feature.verify}, feature.id);
  if (stage_ && !stage_->run.empty()) {
    input.stage_base = StageBase{StageBase::How::Continue, stage_->run};
    // A ceiling may be another one by now; what the agent left is never judged anywhere else.
    input.policy.fs.mode = WriteMode::Staged;
  }
  const Report report = runs_.run(std::move(input));
  if (report.error) return uncontained(*report.error);
  if (stage_ && report.stage) {
    stage_->run = left_changes(report) ? report.run_id : std::string();
  }
  result.status = exit_status(report.outcome->end);
  const bool passed = std::holds_alternative<Exited>(report.outcome->end) && result.status == 0;
  // It would have passed without this attempt. An agent that could not even sign in must not get
  // its work accepted.
  if (passed && passed_before_ && !changed_) {
    result.refused = "passed before the agent began, and the agent changed nothing";
  } else if (passed && passed_before_ && agent_status_ != 0) {
    result.refused = "passed before the agent began, and the agent ended with status " +
                     std::to_string(agent_status_);
  }
  result.accepted = passed && result.refused.empty();
  result.output = last_output(*report.outcome);
  if (auto stop = stopped()) return stop;
  display_.show(result);
  return std::nullopt;
}

Engine::Stop Engine::end_stage(StageFate fate, std::string* lost) {
  if (!stage_ || stage_->run.empty()) return std::nullopt;
  const std::string run = stage_->run;
  RunInput git;  // which Cordon runs for itself, for commits
  if (auto bounded = runs_.bound(git); !bounded) {
    return end(LoopEnded::Why::Failed, {}, bounded.error());
  }
  const auto decided = decide_stage(run, fate, git, input_.caller);
  if (!decided) return end(LoopEnded::Why::Failed, {}, decided.error());
  StageEnded event{run, fate == StageFate::Apply, 0, {}, {}, decided->conflicts};
  const Change::State done =
      fate == StageFate::Apply ? Change::State::Applied : Change::State::Discarded;
  for (const ChangeRecord& record : decided->records) {
    if (record.state == done && event.changes++ < kMostNamed) {
      event.files.push_back(
          std::string(name_of(record.change)) + " " +
          std::filesystem::path(record.path).lexically_relative(input_.caller.cwd).string());
    }
    const bool told = std::ranges::find(event.held, record.top) != event.held.end();
    if (record.state == Change::State::Held && !told) event.held.push_back(record.top);
  }
  if (lost != nullptr && fate == StageFate::Apply && !event.conflicts.empty()) {
    *lost = "accepted, but the host has changed " + std::to_string(event.conflicts.size()) +
            (event.conflicts.size() == 1 ? " file" : " files") +
            " of it meanwhile; cordon changes list " + run;
  }
  display_.show(event);
  return std::nullopt;
}

Engine::Stop Engine::note_tree() {
  const Report report =
      runs_.run(run_input(input_, Role::Commit, {"/bin/sh", "-c", kNoteTree}, "before"));
  if (report.error) return uncontained(*report.error);
  tree_before_.clear();
  no_tree_.clear();
  if (report.stage) {
    no_tree_ = "a ceiling stages every run: commit it yourself";
  } else if (exit_status(report.outcome->end) != 0) {
    no_tree_ = last_output(*report.outcome);
  } else if (report.outcome->out) {
    tree_before_ = report.outcome->out->text();
    while (tree_before_.ends_with('\n')) tree_before_.pop_back();
  }
  return stopped();
}

Engine::Stop Engine::commit(const Feature& feature) {
  if (tree_before_.empty()) {
    display_.show(Committed{false, no_tree_});
    return std::nullopt;
  }
  RunInput input =
      run_input(input_, Role::Commit, {"/bin/sh", "-c", kCommit, "sh", tree_before_}, feature.id);
  input.streams.in = Input::of_bytes(feature.title + "\n");
  const Report report = runs_.run(std::move(input));
  if (report.error) return uncontained(*report.error);
  // Where a ceiling stages this run too, the commit may be held back with its repository.
  const bool held = report.stage && left_changes(report);
  const bool done = exit_status(report.outcome->end) == 0 && !held;
  display_.show(Committed{done, held ? "held back: cordon changes list " + report.run_id
                                     : last_output(*report.outcome)});
  return std::nullopt;
}

}  // namespace cordon::loop
