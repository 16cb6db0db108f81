// RunRecord: what the audit log gets to know of one run. Its beginning is durable before the
// command is released; its end is recorded on every path.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "audit/recorder.h"
#include "run/gate.h"
#include "run/line.h"

namespace cordon {

class RunRecord {
 public:
  // A start closes what dead processes left open. An error if the log cannot be used and the
  // operator does not accept that.
  static Result<RunRecord> open(const RunInput& input, const Caller& caller);

  // What the records tell from now on, that of a refusal too. The run must outlive them.
  void judged(const JudgedRun& run, const std::string& policy_hash);
  // After judged().
  Result<void> begin();
  // After begin().
  AuditMark close(const Outcome& outcome, const std::vector<Change>& changes);
  // Of the requests that the gate tells, while the run goes on: by one thread at a time. begin is
  // durable before it returns.
  Result<std::size_t> begin_request(const GateRequest& request);
  void end_request(std::size_t begun, const gate::Done& done);
  void refuse_request(const GateRequest& request, const std::string& reason);
  // However far it came: the end of what began, or that it was refused before. Nothing if begin()
  // failed: the log has refused it itself. Then another attempt may begin a record of its own.
  std::optional<AuditMark> close(const Error& error);

 private:
  RunRecord(const RunInput& input, const Caller& caller, std::unique_ptr<audit::Recorder> own,
            audit::Recorder& recorder, audit::Redactor redactor);
  [[nodiscard]] audit::Action action() const;
  AuditMark close(const audit::Closing& closing);
  AuditMark refuse(const Error& error);
  [[nodiscard]] audit::Pending pending_request(const GateRequest& request) const;

  const RunInput& input_;
  const Caller& caller_;
  std::unique_ptr<audit::Recorder> own_;
  audit::Recorder& recorder_;
  audit::Redactor redactor_;
  audit::Recorder::Ticket ticket_;
  const JudgedRun* run_ = nullptr;
  std::string policy_hash_;
  enum class State { NotBegun, Begun, Failed };
  State state_ = State::NotBegun;
  std::size_t requests_ = 0;
  std::map<std::size_t, audit::Recorder::Ticket> open_requests_;
};

// Records a request that was refused before it could be judged, because its policy or a ceiling
// could not be read.
std::optional<AuditMark> record_refusal(const RunInput& input, const Caller& caller,
                                        const Error& error);

}  // namespace cordon
