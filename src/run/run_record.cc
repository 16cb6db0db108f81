#include "run/run_record.h"

#include "policy/audit_failure.h"

namespace cordon {

RunRecord::RunRecord(const RunInput& input, const Caller& caller,
                     std::unique_ptr<audit::Recorder> own, audit::Recorder& recorder,
                     audit::Redactor redactor)
    : input_(input),
      caller_(caller),
      own_(std::move(own)),
      recorder_(recorder),
      redactor_(std::move(redactor)) {}

Result<RunRecord> RunRecord::open(const RunInput& input, const Caller& caller) {
  std::unique_ptr<audit::Recorder> own;
  audit::Recorder* recorder = input.recorder;
  if (recorder == nullptr) {
    own = std::make_unique<audit::Recorder>(audit::place_of(caller), audit_failure(input.ceilings));
    recorder = own.get();
  }
  CORDON_TRY(redactor, recorder->redactor(caller));
  // Without a log there is nothing to close in it; what matters is told by begin().
  (void)recorder->close_lost();
  return RunRecord(input, caller, std::move(own), *recorder, std::move(redactor));
}

audit::Action RunRecord::action() const {
  audit::Action action;
  action.name = input_.asker.tool.empty() ? "run" : input_.asker.tool;
  action.tool = input_.asker.tool;
  action.tool_call_id = input_.asker.tool_call_id;
  action.path = input_.asker.path;
  action.cwd = caller_.cwd;
  action.argv = input_.argv;
  action.policy = &input_.policy;
  action.ceilings = input_.ceilings;
  action.approved = input_.approved;
  return action;
}

Result<void> RunRecord::begin(const JudgedRun& run, const std::string& policy_hash) {
  audit::Action about = action();
  about.backend = run.backend->name();
  about.cwd = run.request.cwd;
  about.policy_hash = policy_hash;
  about.effective = &run.clamped.effective();
  CORDON_TRY(ticket, recorder_.begin(redactor_.pending(about)));
  ticket_ = std::move(ticket);
  open_ = true;
  return {};
}

AuditMark RunRecord::close(const audit::Closing& closing) {
  open_ = false;
  AuditMark mark{ticket_.receipt.event_id, {}, ticket_.unwritten};
  if (auto closed = recorder_.close(ticket_, closing); !closed) {
    mark.unrecorded = std::move(closed).error();
  } else {
    mark.outcome = audit::outcome_of(closing.ending);
  }
  return mark;
}

AuditMark RunRecord::close(const Outcome& outcome) { return close(redactor_.closing(outcome)); }

AuditMark RunRecord::close(const Error& error) { return close(audit::Redactor::refusal(error)); }

AuditMark RunRecord::refuse(const Error& error) {
  const audit::Closing closing = audit::Redactor::refusal(error);
  auto ticket = recorder_.refuse(redactor_.pending(action()), closing);
  if (!ticket) return {{}, {}, std::move(ticket).error()};
  return {ticket->receipt.event_id, std::string(audit::outcome_of(closing.ending)),
          ticket->unwritten};
}

}  // namespace cordon
