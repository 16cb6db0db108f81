// The line, as it is carried out:
//
//   send ahead where native is likely, what makes the namespaces meanwhile (`native::Forerunner`)
//   recover    what runs left that were cut off, before anything is looked at (`recover`)
//   judge      resolve, clamp, survey, choose, plan; nothing is written or started (`judge`)
//   prepare    the note, private copies, the stage, the broker, the streams (`Prepared::make`)
//   launch     the sandbox's init begins to build it (`Backend::build`)
//   record     meanwhile: that this is about to happen, durably (`RunRecord::begin`)
//   release    measured and compared with the plan, the command is let go (`Building::release`)
//   supervise  until the last process has ended (`supervise`)
//   settle     what it wrote: kept, held back, put back or told as lost (`settle`)
//   close      the record (`RunRecord::close`)
//
// An error before the launch leaves nothing behind but the record of it. After the launch there is
// an outcome, whatever happens. Where the host refuses native's launch, and nothing of the command
// has run, the line is gone through once more with the next backend (`after_native`).
#include "run/line.h"

#include <poll.h>

#include <algorithm>

#include "base/path.h"
#include "base/private_directory.h"
#include "base/random_id.h"
#include "base/text.h"
#include "host/host_settings.h"
#include "run/account.h"
#include "run/choose.h"
#include "run/hints.h"
#include "run/identity.h"
#include "run/key_place.h"
#include "run/missing_program.h"
#include "run/prepare.h"
#include "run/run_record.h"
#include "run/settle.h"
#include "run/state_upkeep.h"
#include "sandbox/native/build.h"

namespace cordon {
namespace {

// What is taken down after the record is closed and the account is kept: the kernel ends the
// namespaces meanwhile. What the sandbox was given outlives it, and so does the note of what it
// leaves behind.
struct Remains {
  std::unique_ptr<Prepared> prepared;
  std::optional<Launched> launched;  // a command that may have run is never started again
};

// What a run holds on its way along the line. The sandbox goes before the plan that it was built
// by.
struct OnTheWay {
  std::unique_ptr<native::Forerunner> ahead;
  std::optional<RunRecord> record;
  std::optional<JudgedRun> run;
  Remains remains;
};

// What was judged, in the report and in every record from here on, that of a failure too.
void name_judged(const RunInput& input, const JudgedRun& run, RunRecord& record, Report& report) {
  describe(input, run, report);
  record.judged(run, report.policy_hash);
}

// No command is released before its record is durable. The disk is waited for while the sandbox is
// built.
Result<Launched> build_and_release(const RunInput& input, const JudgedRun& run, Prepared& ready,
                                   RunRecord& record, Report& report) {
  auto building =
      run.backend->build(run.plan, run.survey.facts, report.run_id, ready.streams->command_ends());
  name_judged(input, run, record, report);
  if (!building) return fail(std::move(building).error());
  CORDON_CHECK(record.begin());
  return (*building)->release();
}

Result<Launched> launch(const RunInput& input, const JudgedRun& run, Prepared& ready,
                        RunRecord& record, Report& report) {
  auto launched = build_and_release(input, run, ready, record, report);
  if (!launched) {
    // What a foreign mechanism said for itself before it failed.
    ready.streams->command_started();
    ready.streams->drain();
    return fail(std::move(launched).error());
  }
  ready.started();
  ready.note.started(launched->child->init_process());
  if (input.tell_started) input.tell_started();
  return launched;
}

// From the release of the command to the end of its last process.
Result<Outcome> watch(const RunInput& input, const JudgedRun& run, Prepared& ready,
                      Launched& launched, RunRecord& record) {
  BrokerSockets& egress = launched.ends.egress;
  if (ready.gate) {
    ready.gate->serve(
        {ready.broker->dialler(),
         [&](const GateRequest& request) { return record.begin_request(request); },
         [&](std::size_t begun, const gate::Done& done) { record.end_request(begun, done); },
         [&](const GateRequest& request, const std::string& reason) {
           record.refuse_request(request, reason);
         }});
  }
  const auto serve = [&] { serve_calls(input, run, egress, ready.broker); };
  const bool allows = run.clamped.effective().net.mode == NetMode::Allow;
  if (allows || input.session != nullptr || input.why) serve();
  if (ready.publisher) ready.publisher->serve(std::move(launched.ends.socket_source));
  ready.streams->command_started();
  if (launched.ends.terminal.valid()) {
    ready.streams->attach_terminal(std::move(launched.ends.terminal));
  }
  SuperviseRequest watching = supervise_request(input, run, *ready.git_watch);
  watching.first_calls = {egress.listener.get(), egress.datagrams.get(), egress.streams.get()};
  watching.on_first_call = serve;
  if (ready.broker) watching.over_sent = ready.broker->over_descriptor();
  CORDON_TRY(outcome, supervise(*launched.child, *ready.streams, watching));
  // Before the account of connections, which its own belong to.
  if (ready.gate) add_requests(input, run, *ready.gate, outcome);
  if (ready.broker) add_attempts(input, run, *ready.broker, outcome);
  if (ready.publisher) outcome.published = ready.publisher->end();
  return outcome;
}

// Several runs often begin in one tree at once, as the calls of an agent do. Each that sees another
// which was judged without it withdraws and is judged again, after a while that is seldom the same
// for both.
Result<std::unique_ptr<Prepared>> prepare(const RunInput& input, JudgedRun& run,
                                          const std::string& run_id) {
  constexpr int kMostTries = 10;
  for (int attempts = 1;; ++attempts) {
    CORDON_TRY(made, Prepared::make(input, run, run_id));
    if (auto* ready = std::get_if<std::unique_ptr<Prepared>>(&made)) return std::move(*ready);
    const std::string file = std::get<JudgeAgain>(made).file;
    if (attempts == kMostTries) {
      return fail(setup_error("other runs begin in this tree at the same moment, and would hold " +
                                  quote(file) + " in different ways",
                              0, "start it again"));
    }
    (void)::poll(nullptr, 0, attempts * (1 + random_id().front() % 16));
    CORDON_TRY(again, judge(input, run.caller, Foresight::AskHost));
    run = std::move(again);
  }
}

// From what is prepared for a judged run to its outcome.
Result<void> attempt(const RunInput& input, JudgedRun& run, RunRecord& record, Report& report,
                     Remains& remains) {
  std::string line = choice_line(run.choice, run.plan.lost);
  const std::string login =
      unused_login(run.clamped.effective(), run.caller, run.request.persistent_home);
  if (!login.empty()) line.append(line.empty() ? "" : "; ").append(login);
  if (!line.empty() && input.tell_choice) input.tell_choice(line);
  auto made = prepare(input, run, report.run_id);
  if (!made) {
    name_judged(input, run, record, report);
    return fail(std::move(made).error());
  }
  remains.prepared = std::move(*made);
  Prepared& prepared = *remains.prepared;
  report.credential = run.plan.credential;
  report.reductions = run.reductions;
  CORDON_TRY(sandbox, launch(input, run, prepared, record, report));
  Launched& launched = remains.launched.emplace(std::move(sandbox));
  report.identity = identity_of(launched.child->init_process());
  if (input.session != nullptr) input.session->opened(run, prepared, launched, report);
  auto outcome = watch(input, run, prepared, launched, record);
  if (input.session != nullptr) input.session->closing();
  if (!outcome) {
    prepared.failed(outcome.error());
    return fail(std::move(outcome).error());
  }
  report.enforcement = std::move(launched.enforcement);
  prepared.settled();
  settle(input, run, prepared, std::move(launched.ends.gone_places), *outcome, report);
  outcome->hints = hints_for(input, input.argv, run, *outcome, report.changes);
  report.outcome = std::move(*outcome);
  return {};
}

// Native was taken at its word, and its launch failed before anything of the command ran. The host
// is asked now. Where it refuses native, the next backend is tried, as a run with a record of its
// own; where nothing may come next, the error says what to change. Else the error stands as it is.
Result<void> after_native(const RunInput& input, const Caller& caller, Error error, JudgedRun& run,
                          RunRecord& record, Report& report, Remains& remains) {
  remains.prepared.reset();
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
  return attempt(input, run, record, report, remains);
}

// A run that native will most likely carry out, in namespaces that do not depend on the policy:
// they are made while it is judged. To be wrong costs time and nothing else.
std::unique_ptr<native::Forerunner> send_ahead(const RunInput& input, const Caller& caller,
                                               Foresight foresight) {
  const auto wish = backend_request(input.backend, input.backend_by, caller);
  const bool likely = foresight == Foresight::TakeNative && wish &&
                      wish->backend.value_or(BackendKind::Native) == BackendKind::Native &&
                      input.policy.net.mode != NetMode::Open;
  return likely ? native::send_ahead() : nullptr;
}

Report carry_out(const RunInput& input, const Caller& caller, OnTheWay& way) {
  Report report;
  report.run_id = input.run_id.empty() ? random_id() : input.run_id;
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
  const Foresight foresight = suspects_no_namespaces() ? Foresight::AskHost : Foresight::TakeNative;
  way.ahead = send_ahead(input, caller, foresight);
  auto opened = RunRecord::open(input, caller);
  if (!opened) {
    report.error = std::move(opened).error();
    return report;
  }
  RunRecord& record = way.record.emplace(std::move(*opened));
  const std::vector<Quarantined> recovered = recover(input.ceilings, caller);
  auto judged = judge(input, caller, foresight);
  if (!judged) {
    report.audit = record.close(judged.error());
    report.error = with_told(std::move(judged).error(), recovered);
    return report;
  }
  JudgedRun& run = way.run.emplace(std::move(*judged));
  if (run.choice.backend != BackendKind::Native) way.ahead.reset();
  if (way.ahead) run.backend->start_from(*way.ahead);
  auto done = attempt(input, run, record, report, way.remains);
  if (!done && !way.remains.launched && run.choice.backend == BackendKind::Native) {
    done = after_native(input, caller, std::move(done).error(), run, record, report, way.remains);
  }
  if (!done) {
    report.error =
        with_command_hint(std::move(done).error(), asked_command(run, input.argv, input.ceilings));
    report.audit = record.close(*report.error);
    report.error = with_told(std::move(*report.error), recovered);
  } else {
    report.outcome->handoff.insert(report.outcome->handoff.end(), recovered.begin(),
                                   recovered.end());
    report.audit = record.close(*report.outcome, report.changes);
  }
  return report;
}

}  // namespace

Report run_contained(const RunInput& input, const Caller& caller) {
  OnTheWay way;
  Report report = carry_out(input, caller, way);
  AccountOf of = input.session == nullptr ? AccountOf::Command : AccountOf::Session;
  if (audit::is_own_action(input.asker.action)) of = AccountOf::Own;
  // While the kernel takes the namespaces down.
  keep_account(caller.state_directory, report, of);
  return report;
}

}  // namespace cordon
